// The stand-in's device alone guarantees no more than a GPU does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu/stand_in/device.h"

namespace plumbline::stand_in {
namespace {

class StandInDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(device_.allocate(100, &memory_), codes::success);
    ASSERT_EQ(device_.create_stream(&stream_), codes::success);
  }
  Device::Work note(int number) {
    return [this, number] {
      done_.push_back(number);
      return codes::success;
    };
  }

  Device device_;
  void *memory_ = nullptr, *stream_ = nullptr;
  std::vector<int> done_;
};

TEST_F(StandInDevice, OwnsOnlyAllocatedMemory) {
  const auto* first = static_cast<const std::byte*>(memory_);
  EXPECT_TRUE(device_.owns(first, 100));
  EXPECT_TRUE(device_.owns(first + 60, 40));
  EXPECT_FALSE(device_.owns(first + 60, 41));
  EXPECT_FALSE(device_.owns(first - 1, 1));
  const int on_host = 0;
  EXPECT_FALSE(device_.owns(&on_host, 4));
  EXPECT_FALSE(device_.owns(nullptr, 1));
  EXPECT_EQ(device_.release(memory_), codes::success);
  EXPECT_FALSE(device_.owns(first, 1));
  EXPECT_EQ(device_.release(memory_), codes::invalid_value);
}

TEST_F(StandInDevice, MemoryIsLimited) {
  void* more = nullptr;
  EXPECT_EQ(device_.allocate(memory_bytes, &more), codes::out_of_memory);
  EXPECT_EQ(device_.allocate(0, &more), codes::invalid_value);
}

TEST_F(StandInDevice, StreamsStartWhenWaitedFor) {
  device_.enqueue(stream_, note(1));
  device_.enqueue(nullptr, note(2));
  EXPECT_THAT(done_, ::testing::ElementsAre(2));
  EXPECT_EQ(device_.synchronize(nullptr), codes::success);
  EXPECT_THAT(done_, ::testing::ElementsAre(2)) << "the default stream waits for no other";
  EXPECT_EQ(device_.synchronize(stream_), codes::success);
  EXPECT_THAT(done_, ::testing::ElementsAre(2, 1));
}

TEST_F(StandInDevice, ErrorsOfKernelsAreSticky) {
  device_.enqueue(stream_, [] { return codes::illegal_address; });
  device_.enqueue(stream_, note(1));
  void* more = nullptr;
  EXPECT_EQ(device_.allocate(1, &more), codes::success) << "nothing has run yet";
  EXPECT_EQ(device_.synchronize(stream_), codes::illegal_address);
  EXPECT_THAT(done_, ::testing::IsEmpty());
  EXPECT_EQ(device_.allocate(1, &more), codes::illegal_address);
  EXPECT_EQ(device_.enqueue(nullptr, note(2)), codes::illegal_address);
  EXPECT_EQ(device_.synchronize(nullptr), codes::illegal_address);
}

TEST_F(StandInDevice, RefusesUnknownHandles) {
  int other = 0;
  double ns = 0;
  EXPECT_EQ(device_.enqueue(&other, note(1)), codes::invalid_handle);
  EXPECT_EQ(device_.record_event(&other, stream_), codes::invalid_handle);
  EXPECT_EQ(device_.elapsed_ns(&other, &other, &ns), codes::invalid_handle);
}

}  // namespace
}  // namespace plumbline::stand_in
