// The C interface of libplumbline_ptx.so, used as from a C program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "emulator/architectures.h"
#include "emulator/ptx/c/plumbline_ptx.h"

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// out[i] = factor in[i] with 64 threads, and a count of the launches.
constexpr std::string_view text = R"(.version 8.4
.target sm_80
.address_size 64
.global .u32 launches = 40;
.visible .entry scale(.param .u64 in, .param .f32 factor, .param .u64 out)
{
.shared .align 4 .b8 tile[256];
.reg .pred %p<2>;
.reg .b32 %r<4>;
.reg .f32 %f<4>;
.reg .b64 %y<8>;
ld.param.u64 %y1, [in];
ld.param.f32 %f1, [factor];
ld.param.u64 %y2, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %y3, %r1, 4;
add.u64 %y4, %y1, %y3;
ld.global.f32 %f2, [%y4];
mul.f32 %f3, %f2, %f1;
add.u64 %y5, %y2, %y3;
st.global.f32 [%y5], %f3;
setp.eq.u32 %p1, %r1, 0;
@%p1 atom.global.add.u32 %r2, [launches], 1;
@%p1 st.global.u32 [%y2+256], %r2;
ret;
}
)";

class PtxLibrary : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("PLUMBLINE_PTX_CACHE", "ptx_cache", 0); }
};

using Kernel = std::unique_ptr<plumbline_ptx_kernel, decltype(&plumbline_ptx_unload)>;
using Allocations =
    std::unique_ptr<plumbline_ptx_allocations, decltype(&plumbline_ptx_allocations_free)>;

struct Loaded {
  Kernel kernel;
  std::string error;
};

Loaded load(std::string_view source, const char* entry) {
  std::array<char, 4096> error{};
  Kernel kernel(plumbline_ptx_load(source.data(), source.size(), entry, "scale.ptx", 0,
                                   error.data(), error.size()),
                plumbline_ptx_unload);
  return {std::move(kernel), error.data()};
}

struct Data {
  std::vector<float> in = std::vector<float>(64);
  std::vector<float> out = std::vector<float>(65);
  Data() { std::iota(in.begin(), in.end(), 1.0F); }
};

std::string launch(const Kernel& kernel, const float* in, float* out,
                   const Allocations* allocations, const char* arch = "sm_90") {
  std::vector<std::byte> packed(plumbline_ptx_parameter_bytes(kernel.get()));
  const float factor = 3;
  const std::array<const void*, 3> values{&in, &factor, &out};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t offset = 0, bytes = 0;
    EXPECT_EQ(plumbline_ptx_parameter(kernel.get(), i, &offset, &bytes), 0);
    std::memcpy(packed.data() + offset, values[i], bytes);
  }
  plumbline_ptx_launch_options options{};
  options.arch = arch;
  options.grid[0] = options.grid[1] = options.grid[2] = 1;
  options.block[0] = 64;
  options.block[1] = options.block[2] = 1;
  options.parameters = packed.data();
  if (allocations != nullptr) options.allocations = allocations->get();
  std::array<char, 4096> error{};
  const int failed = plumbline_ptx_launch(kernel.get(), &options, error.data(), error.size());
  EXPECT_EQ(failed != 0, error[0] != '\0');
  return error.data();
}

std::string launch(const Kernel& kernel, Data& data, const Allocations* allocations = nullptr,
                   const char* arch = "sm_90") {
  return launch(kernel, data.in.data(), data.out.data(), allocations, arch);
}

std::uint32_t count_in(const Data& data) {
  std::uint32_t count = 0;
  std::memcpy(&count, &data.out[64], sizeof count);
  return count;
}

TEST_F(PtxLibrary, LoadsQueriesAndLaunchesKernel) {
  const Loaded loaded = load(text, "scale");
  ASSERT_NE(loaded.kernel, nullptr) << loaded.error;
  EXPECT_EQ(loaded.error, "");
  EXPECT_EQ(plumbline_ptx_interface(), PLUMBLINE_PTX_INTERFACE);
  EXPECT_EQ(plumbline_ptx_parameter_count(loaded.kernel.get()), 3U);
  EXPECT_EQ(plumbline_ptx_parameter_bytes(loaded.kernel.get()), 24U);
  EXPECT_EQ(plumbline_ptx_static_shared_bytes(loaded.kernel.get()), 256U);
  std::size_t offset = 0, bytes = 0;
  EXPECT_EQ(plumbline_ptx_parameter(loaded.kernel.get(), 1, &offset, &bytes), 0);
  EXPECT_EQ(offset, 8U);
  EXPECT_EQ(bytes, 4U);
  EXPECT_EQ(plumbline_ptx_parameter(loaded.kernel.get(), 3, &offset, &bytes), 1);
  for (const std::uint32_t earlier : {40U, 41U}) {  // the module's variables persist
    Data data;
    EXPECT_EQ(launch(loaded.kernel, data), "");
    EXPECT_EQ(data.out[63], 192.0F);
    EXPECT_EQ(count_in(data), earlier);
  }
}

TEST_F(PtxLibrary, LaunchAccessesOnlyAllocations) {
  const Loaded loaded = load(text, "scale");
  ASSERT_NE(loaded.kernel, nullptr) << loaded.error;
  const Allocations allocations(plumbline_ptx_allocations_new(), plumbline_ptx_allocations_free);
  Data data;
  plumbline_ptx_allocations_add(allocations.get(), data.in.data(), 256);
  plumbline_ptx_allocations_add(allocations.get(), data.out.data(), 260);
  EXPECT_EQ(launch(loaded.kernel, data, &allocations), "");
  plumbline_ptx_allocations_add(allocations.get(), data.in.data(), 160);
  EXPECT_THAT(launch(loaded.kernel, data, &allocations),
              AllOf(StartsWith("block (0, 0, 0): warp 1 lane 8 at scale.ptx:18"),
                    HasSubstr("out of bounds, 4 bytes at byte 160 of an allocation of 160")));
  plumbline_ptx_allocations_remove(allocations.get(), data.in.data());
  EXPECT_THAT(launch(loaded.kernel, data, &allocations), HasSubstr("out of bounds"));
  plumbline_ptx_allocations_clear(allocations.get());
  EXPECT_THAT(launch(loaded.kernel, data, &allocations), HasSubstr("out of bounds"));
}

// `in` and `out` are adjacent in memory, each with its own tag.
TEST_F(PtxLibrary, TagLimitsPointerToOwnMemory) {
  const Loaded loaded = load(text, "scale");
  ASSERT_NE(loaded.kernel, nullptr) << loaded.error;
  const auto tagged = [](const void* pointer, std::uint64_t tag) {
    return reinterpret_cast<float*>(reinterpret_cast<std::uint64_t>(pointer) | tag << 48);
  };
  Data data;
  float* const in = tagged(data.in.data(), 1);
  float* const out = tagged(data.out.data(), 0xffff);
  const Allocations allocations(plumbline_ptx_allocations_new(), plumbline_ptx_allocations_free);
  plumbline_ptx_allocations_add(allocations.get(), in, 256);
  plumbline_ptx_allocations_add(allocations.get(), out, 260);
  EXPECT_EQ(launch(loaded.kernel, in, out, &allocations), "");
  EXPECT_EQ(data.out[63], 192.0F);
  // Under another pointer's tag, or without a tag, the memory cannot be reached.
  EXPECT_THAT(launch(loaded.kernel, tagged(data.in.data(), 2), out, &allocations),
              HasSubstr("out of bounds"));
  EXPECT_THAT(launch(loaded.kernel, data.in.data(), out, &allocations), HasSubstr("out of bounds"));
  EXPECT_EQ(launch(loaded.kernel, in, out, nullptr), "") << "without a check tags do not matter";
}

TEST_F(PtxLibrary, ErrorsFitTheBuffer) {
  EXPECT_EQ(load(text, "other").error, "scale.ptx: no entry other");
  EXPECT_THAT(load(".version 8.4\n.nothing", "scale").error, StartsWith("scale.ptx:2: "));
  const Loaded loaded = load(text, "scale");
  ASSERT_NE(loaded.kernel, nullptr) << loaded.error;
  Data data;
  EXPECT_EQ(launch(loaded.kernel, data, nullptr, "sm_75"),
            "no architecture sm_75\n  remedy: name one of " +
                std::string(plumbline::emulator::names_of_emulated));
  std::array<char, 8> small{};
  EXPECT_EQ(plumbline_ptx_load(text.data(), text.size(), "other", "scale.ptx", 0, small.data(),
                               small.size()),
            nullptr);
  EXPECT_STREQ(small.data(), "scale.p");
}

// The first load of a text, by many threads at once.
TEST_F(PtxLibrary, ThreadsLoadTheSameKernel) {
  // The entry's name is part of the source, so a new name is not in the cache.
  const std::string entry = "scale_" + std::to_string(std::random_device{}());
  std::string fresh(text);
  fresh.replace(fresh.find("scale("), 5, entry);
  std::vector<Loaded> loaded;
  for (int i = 0; i < 4; ++i) loaded.push_back({Kernel(nullptr, plumbline_ptx_unload), ""});
  std::vector<std::thread> threads;
  for (Loaded& into : loaded) threads.emplace_back([&] { into = load(fresh, entry.c_str()); });
  for (std::thread& thread : threads) thread.join();
  for (const Loaded& one : loaded) {
    ASSERT_NE(one.kernel, nullptr) << one.error;
    Data data;
    EXPECT_EQ(launch(one.kernel, data), "");
    EXPECT_EQ(count_in(data), 40U);
  }
}

}  // namespace
