// The CUDA memory table behaves as plumbline_provider.h specifies, on a GPU and on the stand-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/built_library.h"
#include "tests/kernels/call.h"
#include "tests/need_gpu.h"

namespace plumbline::testing {
namespace {

using ::testing::Each;
using ::testing::StartsWith;

class MemoryTable : public ::testing::Test {
 protected:
  static constexpr std::uint64_t bytes = 1 << 16;

  void SetUp() override {
    static const Library library(test::built_library(PLUMBLINE_GPU_LIBRARY));
    memory_ = library.provider()->memory;
    ASSERT_NE(memory_, nullptr);
    ASSERT_EQ(memory_->struct_size, sizeof *memory_);
    device_.struct_size = sizeof device_;
    device_.memory_space = PLUMBLINE_CUDA;
    std::int32_t count = 0;
    if (const std::int32_t code = memory_->device_count(&count); count == 0)
      PLUMBLINE_SKIP_WITHOUT_GPU(error(code).text);
    for (void** buffer : {&a_, &b_}) ASSERT_EQ(memory_->allocate(&device_, bytes, buffer), 0);
    ASSERT_EQ(memory_->create_stream(&device_, &stream_), 0);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(memory_->synchronize(&device_, stream_), 0);
    EXPECT_EQ(memory_->destroy_stream(&device_, stream_), 0);
    for (void* buffer : {a_, b_}) EXPECT_EQ(memory_->release(&device_, buffer), 0);
  }

  void write(void* buffer, int byte) const {
    const std::vector<unsigned char> host(bytes, static_cast<unsigned char>(byte));
    ASSERT_EQ(memory_->copy_to_device(&device_, buffer, host.data(), bytes), 0);
  }
  std::vector<unsigned char> read(const void* buffer) const {
    std::vector<unsigned char> host(bytes);
    EXPECT_EQ(memory_->copy_to_host(&device_, host.data(), buffer, bytes), 0);
    return host;
  }
  plumbline_device_error error(std::int32_t code) const {
    plumbline_device_error words{};
    words.struct_size = sizeof words;
    EXPECT_EQ(memory_->describe_error(code, &words), 0);
    return words;
  }

  const plumbline_device_memory* memory_ = nullptr;
  plumbline_device device_{};
  void *a_ = nullptr, *b_ = nullptr, *stream_ = nullptr;
};

// Blocks a stream until it is opened.
struct Block {
  std::atomic<bool> open = false;
  static void wait(void* block) {
    for (int i = 0; i < 1000 && !static_cast<Block*>(block)->open; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(MemoryTable, StreamSeesEarlierCopies) {
  write(a_, 7);
  ASSERT_EQ(memory_->enqueue_copy(&device_, b_, a_, bytes, stream_), 0);
  ASSERT_EQ(memory_->synchronize(&device_, stream_), 0);
  EXPECT_THAT(read(b_), Each(7));
}

TEST_F(MemoryTable, StreamKeepsOrder) {
  for (int byte = 1; byte <= 20; ++byte)
    ASSERT_EQ(memory_->enqueue_fill(&device_, a_, byte, bytes, stream_), 0);
  ASSERT_EQ(memory_->enqueue_copy(&device_, b_, a_, bytes, stream_), 0);
  ASSERT_EQ(memory_->enqueue_fill(&device_, a_, 21, bytes, stream_), 0);
  ASSERT_EQ(memory_->synchronize(&device_, stream_), 0);
  EXPECT_THAT(read(a_), Each(21));
  EXPECT_THAT(read(b_), Each(20));
}

// The check that kernels use their stream (gate.h) relies on this: the default stream works while a
// host call blocks another stream.
TEST_F(MemoryTable, DefaultStreamIgnoresBlockedStream) {
  write(a_, 1);
  write(b_, 2);
  Block block;
  ASSERT_EQ(memory_->enqueue_call(&device_, Block::wait, &block, stream_), 0);
  ASSERT_EQ(memory_->enqueue_fill(&device_, a_, 3, bytes, stream_), 0);
  ASSERT_EQ(memory_->enqueue_copy(&device_, b_, a_, bytes, nullptr), 0);
  ASSERT_EQ(memory_->synchronize(&device_, nullptr), 0);
  EXPECT_THAT(read(b_), Each(1)) << "the fill of the blocked stream came first";
  block.open = true;
  ASSERT_EQ(memory_->synchronize(&device_, stream_), 0);
  EXPECT_THAT(read(a_), Each(3));
}

TEST_F(MemoryTable, EventsMeasureElapsedTime) {
  void *begin = nullptr, *end = nullptr;
  ASSERT_EQ(memory_->create_event(&device_, &begin), 0);
  ASSERT_EQ(memory_->create_event(&device_, &end), 0);
  const auto elapsed_ns = [&](int fills) {
    double ns = -1;
    EXPECT_EQ(memory_->record_event(&device_, begin, stream_), 0);
    for (int i = 0; i < fills; ++i)
      EXPECT_EQ(memory_->enqueue_fill(&device_, a_, i % 256, bytes, stream_), 0);
    EXPECT_EQ(memory_->record_event(&device_, end, stream_), 0);
    EXPECT_EQ(memory_->elapsed_ns(&device_, begin, end, &ns), 0);
    return ns;
  };
  elapsed_ns(1);
  const double few = elapsed_ns(2), many = elapsed_ns(400);
  EXPECT_GE(few, 0);
  EXPECT_GT(many, few);
  EXPECT_EQ(memory_->destroy_event(&device_, begin), 0);
  EXPECT_EQ(memory_->destroy_event(&device_, end), 0);
}

TEST_F(MemoryTable, DescribesDevice) {
  std::int32_t count = 0;
  EXPECT_EQ(memory_->device_count(&count), 0);
  EXPECT_GE(count, 1);
  plumbline_device_facts facts{};
  facts.struct_size = sizeof facts;
  ASSERT_EQ(memory_->facts(&device_, &facts), 0);
  EXPECT_STRNE(facts.model, "");
  EXPECT_THAT(std::string(facts.arch), StartsWith("sm_"));
  EXPECT_STRNE(facts.driver, "");
  EXPECT_STRNE(facts.runtime, "");
  EXPECT_GT(facts.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_GE(facts.l2_bytes, std::uint64_t{1} << 20);
}

TEST_F(MemoryTable, ErrorsHaveNames) {
  void* none = nullptr;
  const std::int32_t full = memory_->allocate(&device_, std::uint64_t{1} << 50, &none);
  ASSERT_NE(full, 0);
  EXPECT_EQ(error(full).out_of_memory, 1U) << error(full).name;
  EXPECT_STREQ(error(full).name, "cudaErrorMemoryAllocation");
  plumbline_device absent = device_;
  absent.ordinal = 99;
  const std::int32_t missing = memory_->allocate(&absent, 256, &none);
  ASSERT_NE(missing, 0);
  EXPECT_EQ(error(missing).out_of_memory, 0U);
  EXPECT_STREQ(error(missing).name, "cudaErrorInvalidDevice");
  EXPECT_STREQ(error(700).name, "cudaErrorIllegalAddress");
  // No error is left for a later call.
  EXPECT_EQ(memory_->synchronize(&device_, nullptr), 0);
}

}  // namespace
}  // namespace plumbline::testing
