// A prepared kernel call runs repeatedly and returns a mean of V, on the emulator. On a GPU such
// calls measure time.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/gpu/kernel_call.h"
#include "tests/gpu/speed_shapes.h"

namespace plumbline::testing {
namespace {

const plumbline_provider& emulated() {
  void* library = dlopen(PLUMBLINE_EMULATED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  const auto get =
      reinterpret_cast<plumbline_get_provider_function>(dlsym(library, "plumbline_get_provider"));
  return *get(PLUMBLINE_ABI_VERSION, "");
}

Problem small(Problem problem) {
  problem.batch = 2;
  problem.heads_q = problem.heads_q / problem.heads_kv * 2;
  problem.heads_kv = 2;
  problem.seq_kv = 600;
  if (problem.seq_q > 1) problem.seq_q = problem.seq_kv = 70;
  return problem;
}

// Expects a mean of normal numbers: neither NaN nor all zero, and smaller than those numbers.
void expect_attention(const std::string& kernel, const Problem& problem) {
  KernelCall call(emulated(), kernel, problem);
  ASSERT_EQ(call.error(), "") << kernel;
  ASSERT_EQ(call.run(), "");
  ASSERT_EQ(call.synchronize(), "");
  const auto first = call.output();
  double sum_of_squares = 0;
  const std::size_t count = first.size() / size_in_bytes(problem.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = decode_at(problem.dtype, first.data(), i);
    sum_of_squares += value * value;
  }
  const double rms = std::sqrt(sum_of_squares / static_cast<double>(count));
  EXPECT_GT(rms, 0.01) << kernel;
  EXPECT_LT(rms, 0.7) << kernel;
  ASSERT_EQ(call.run(), "");
  EXPECT_EQ(first, call.output()) << kernel;
  EXPECT_STREQ(call.describe().device_arch, "sm_90");
  EXPECT_GT(call.describe().shared_memory_bytes, 0);
}

TEST(KernelCall, DecodeOfStoryS4) {
  const Problem problem = small(story_s4());
  EXPECT_EQ(problem.layout, Layout::paged_nhd);
  for (const char* kernel : {"decode_mma", "decode_simt", "prefill_mma"})
    expect_attention(kernel, problem);
}

TEST(KernelCall, Prefill) {
  for (const Mask mask : {Mask::none, Mask::causal_bottom_right}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      expect_attention("prefill_mma", small(prefill_shape(dtype, mask)));
    }
  }
  expect_attention("prefill_simt", small(prefill_shape(DType::f16, Mask::causal_bottom_right)));
}

TEST(KernelCall, RefusesUnsupportedProblem) {
  const KernelCall unknown(emulated(), "no_such_kernel", small(story_s4()));
  EXPECT_EQ(unknown.error(), "there is no kernel no_such_kernel");
  Problem odd = small(story_s4());
  odd.head_dim_qk = odd.head_dim_vo = 80;
  const KernelCall unsupported(emulated(), "decode_mma", odd);
  EXPECT_TRUE(unsupported.unsupported());
  EXPECT_NE(unsupported.error(), "");
}

// The work of the rates, computed by hand.
TEST(SpeedShapes, WorkMatchesHandComputation) {
  const Problem s4 = story_s4();
  EXPECT_EQ(bytes_once(s4), 2.0 * 57 * (2 * 8192.0 * 8 * 128 + 2 * 32 * 128));
  const Problem full = prefill_shape(DType::f16, Mask::none),
                causal = prefill_shape(DType::f16, Mask::causal_bottom_right);
  EXPECT_EQ(operations(full), 4.0 * 4 * 32 * 2048 * 2048 * 128);
  EXPECT_EQ(operations(causal), 4.0 * 4 * 32 * (2048.0 * 2049 / 2) * 128);
}

}  // namespace
}  // namespace plumbline::testing
