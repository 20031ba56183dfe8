// Tests that the caller's floating-point state changes no result, and that outputs near the
// smallest numbers of their dtype are judged like others.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

#include "harness/base/floating_point_state.h"
#include "harness/check/check.h"
#include "harness/check/diff.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;

constexpr std::int64_t keys = 7, columns = 32;

// Q and K are 0, so each output is the mean of V, whose numbers are about `magnitude`.
Dump means(double magnitude, bool are_zeros) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_q = 3;
  problem.seq_kv = keys;
  problem.head_dim_qk = problem.head_dim_vo = columns;
  DumpTensors tensors = test::run_emulated(problem, {});
  tensors.erase("lse");
  for (const char* name : {"q", "k"})
    std::fill(tensors.data(name).begin(), tensors.data(name).end(), std::byte{0});
  std::vector<float> v, out;
  std::vector<double> sum(columns);
  for (std::int64_t at = 0; at < keys * columns; ++at) {
    v.push_back(static_cast<float>(magnitude * (1.1 + std::sin(static_cast<double>(at)))));
    sum[static_cast<std::size_t>(at % columns)] += double{v.back()};
  }
  for (std::int64_t at = 0; at < 3 * columns; ++at)
    out.push_back(static_cast<float>(sum[static_cast<std::size_t>(at % columns)] / keys));
  std::memcpy(tensors.data("v").data(), v.data(), v.size() * sizeof(float));
  std::memcpy(tensors.data("out").data(), out.data(), out.size() * sizeof(float));
  if (are_zeros) std::memset(tensors.data("out").data(), 0, out.size() * sizeof(float));
  auto dump = make_dump("dump", tensors.view(), attributes_of(problem));
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  return std::move(*dump);
}

// Returns the states that a caller may be in.
std::vector<FloatingPointWords> states() {
  std::vector<FloatingPointWords> all{usual_floating_point};
  for (const std::uint32_t mxcsr : {0x9FC0U, 0x5F80U, 0x7F80U, 0x3F80U})
    all.push_back({mxcsr, static_cast<std::uint16_t>(0x037F | (mxcsr & 0x6000U) >> 3U)});
  return all;
}

template <class Call>
auto called_in(const FloatingPointWords& state, const Call& call) {
  state.set();
  auto result = call();
  const FloatingPointWords after = FloatingPointWords::now();
  usual_floating_point.set();
  EXPECT_EQ(after, state) << "the caller keeps its state";
  return result;
}

TEST(FloatingPoint, CallerStateHasNoEffect) {
  for (const double magnitude : {1.0, 1e-37, 1e-39, 1e-43}) {
    const Dump right = means(magnitude, false), zeros = means(magnitude, true);
    for (const FloatingPointWords& state : states()) {
      const auto of_right = called_in(state, [&] { return check(right); }),
                 of_zeros = called_in(state, [&] { return check(zeros); });
      ASSERT_TRUE(of_right && of_zeros);
      EXPECT_EQ(of_right->answer, Answer::rounding)
          << magnitude << ", state " << state.mxcsr << ": " << of_right->sentence;
      EXPECT_FALSE(std::isnan(of_right->trials[of_right->judged].percent_of_limit()));
      if (magnitude < 1e-41) continue;  // tf32 rounds such inputs to 0
      EXPECT_EQ(of_zeros->answer, Answer::bug)
          << magnitude << ", state " << state.mxcsr << ": " << of_zeros->sentence;
    }
  }
}

TEST(FloatingPoint, DiffKeepsCallerState) {
  const Dump right = means(1e-39, false), zeros = means(1e-39, true);
  for (const FloatingPointWords& state : states()) {
    const auto report = called_in(state, [&] { return diff(right, zeros); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->a.answer, Answer::rounding) << report->a.why;
    EXPECT_EQ(report->b.answer, Answer::bug) << report->b.why;
  }
}

}  // namespace
}  // namespace plumbline
