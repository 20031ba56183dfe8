// Tests check on merges of states: legal ones are rounding, wrong bases and lost parts are named,
// and invalid ones are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/check/check.h"
#include "harness/problem/inputs.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::DumpTensors;
using testing::Contains;
using testing::HasSubstr;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

Problem states(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.merge = Merge::natural;
  problem.law = Law::llm;
  problem.batch = 48;
  problem.heads_q = problem.heads_kv = 4;
  problem.seq_q = 1;
  problem.seq_kv = 3;
  problem.head_dim_qk = 1;
  problem.head_dim_vo = 32;
  return problem;
}

// Faults of a merge. The given LSEs are natural.
struct Fault {
  bool base_2 = false;     // reads the LSEs as base 2
  std::int64_t parts = 0;  // number of parts left out
  double factor = 1;       // of the output
};

DumpTensors merged(const Problem& problem, const Fault& fault = {}) {
  const Geometry geometry(problem);
  std::vector<std::byte> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
  fill_inputs(geometry, q.data(), k.data(), v.data());
  std::vector<float> out, lse;
  for (std::int64_t token = 0; token < problem.batch; ++token) {
    for (std::int64_t head = 0; head < problem.heads_q; ++head) {
      std::vector<double> sum(static_cast<std::size_t>(problem.head_dim_vo), 0);
      double total = 0, largest = minus_infinity;
      const std::int64_t parts = geometry.length_kv(token) - fault.parts;
      const auto lse_of = [&](std::int64_t part) {
        return decode_at(DType::f32, k.data(),
                         static_cast<std::size_t>(geometry.k_offset(token, part, head)));
      };
      for (std::int64_t i = 0; i < parts; ++i) largest = std::max(largest, lse_of(i));
      for (std::int64_t i = 0; i < parts && largest != minus_infinity; ++i) {
        const double distance = lse_of(i) - largest,
                     weight = fault.base_2 ? std::exp2(distance) : std::exp(distance);
        if (weight == 0) continue;
        total += weight;
        for (std::size_t d = 0; d < sum.size(); ++d) {
          const auto at = static_cast<std::size_t>(geometry.v_offset(token, i, head)) + d;
          sum[d] += weight * decode_at(problem.dtype, v.data(), at);
        }
      }
      for (const double x : sum)
        out.push_back(total == 0 ? 0 : static_cast<float>(fault.factor * x / total));
      lse.push_back(static_cast<float>(
          total == 0 ? minus_infinity
                     : largest + (fault.base_2 ? std::log2(total) : std::log(total))));
    }
  }
  std::vector<std::byte> out_bytes(geometry.out.bytes()), lse_bytes(lse.size() * sizeof(float));
  encode(problem.out(), out, out_bytes.data());
  std::memcpy(lse_bytes.data(), lse.data(), lse_bytes.size());
  const std::string dtype = problem.dtype == DType::f32   ? "F32"
                            : problem.dtype == DType::f16 ? "F16"
                                                          : "BF16";
  DumpTensors tensors;
  const std::int64_t parts = problem.seq_kv, heads = problem.heads_q, dim = problem.head_dim_vo;
  tensors.set("partial_out", dtype, {problem.batch, parts, heads, dim}, v);
  tensors.set("partial_lse", "F32", {problem.batch, parts, heads}, k);
  tensors.set("out", problem.out() == DType::f32 ? "F32" : dtype, {problem.batch, heads, dim},
              out_bytes);
  tensors.set("lse", "F32", {problem.batch, heads}, lse_bytes);
  return tensors;
}

CheckReport judged(const DumpTensors& tensors, const Attributes& attributes = {}) {
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  auto report = check(*dump);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

std::string error_of(const DumpTensors& tensors, const Attributes& attributes = {}) {
  const auto dump = make_dump("dump", tensors.view(), attributes);
  return dump ? "" : to_string(dump.error());
}

TEST(MergeDump, LegalMergesAreRounding) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const Law law : {Law::llm, Law::normal, Law::extreme, Law::near_uniform}) {
      Problem problem = states(dtype);
      problem.law = law;
      const CheckReport report = judged(merged(problem));
      EXPECT_EQ(report.answer, Answer::rounding) << problem_id(problem) << report.sentence;
      EXPECT_EQ(report.trials.at(report.judged).rung.name, "merge in fp32");
    }
  }
}

TEST(MergeDump, InfiniteLseMarksEmptyParts) {
  Problem problem = states(DType::bf16);
  problem.mask = Mask::custom, problem.fill = Fill::nan;
  const CheckReport report = judged(merged(problem));
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_EQ(report.problem.mask, Mask::custom);
}

TEST(MergeDump, WrongMergesAreExplained) {
  const auto causes_of = [](const Fault& fault) {
    const CheckReport report = judged(merged(states(DType::bf16), fault));
    EXPECT_EQ(report.answer, Answer::bug) << report.sentence;
    return report.suggestions;
  };
  EXPECT_THAT(causes_of({.base_2 = true}),
              Contains(HasSubstr("if the parts' LSEs were of base 2, not natural")));
  EXPECT_THAT(causes_of({.parts = 1}),
              Contains(HasSubstr("if each token's last part were left out")));
  const CheckReport scaled = judged(merged(states(DType::bf16), {.factor = 0.996}));
  EXPECT_NE(scaled.answer, Answer::rounding) << scaled.sentence;
}

TEST(MergeDump, RefusesInvalidMerges) {
  const DumpTensors good = merged(states(DType::f16));
  DumpTensors tensors = good;
  tensors.erase("partial_lse");
  EXPECT_THAT(error_of(tensors), HasSubstr("partial_lse"));
  tensors = good;
  tensors.shape("partial_lse") = {48, 4, 3};
  EXPECT_THAT(error_of(tensors), HasSubstr("partial_lse [48, 4, 3] is not [48, 3, 4]"));
  tensors = good;
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tensors.data("partial_lse").data() + 5 * sizeof(float), &infinity, sizeof infinity);
  EXPECT_THAT(error_of(tensors), HasSubstr("partial_lse is inf at token 0, part 1, head 1"));
  for (const auto& [attribute, value] :
       {std::pair{"causal", "true"}, std::pair{"padding", "left"}, std::pair{"page_size", "16"}})
    EXPECT_THAT(error_of(good, {{attribute, value}}), HasSubstr("a merge of states has none"));
  tensors = good;
  tensors.set("q", "F16", {1}, std::vector<std::byte>(2));
  EXPECT_THAT(error_of(tensors), HasSubstr("tensor q cannot be used together with partial_out"));
  tensors = good;
  tensors.set("v_descale", "F32", {1}, std::vector<std::byte>(4));
  EXPECT_THAT(error_of(tensors),
              HasSubstr("tensor v_scale cannot be used together with partial_out"));
  EXPECT_THAT(error_of(good, {{"scale_block", "64"}}),
              HasSubstr("attribute scale_block: a merge of states has none"));
}

}  // namespace
}  // namespace plumbline
