// The library's reference agrees with the CPU's and with quad precision, for every mask, layout,
// law and kind of rounding.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "harness/reference/reference_library.h"
#include "tests/built_library.h"
#include "tests/need_gpu.h"
#include "tests/reference/filled_problem.h"
#include "tests/reference/quad_attention.h"
#include "tests/reference/quad_cases.h"
#include "tests/reference/same_reference.h"

namespace plumbline {
namespace {

std::shared_ptr<const ReferenceLibrary> library() {
  static const auto opened =
      ReferenceLibrary::open(test::built_library(PLUMBLINE_REFERENCE_LIBRARY));
#ifdef PLUMBLINE_NEEDS_GPU
  if (!opened) return nullptr;  // no device
#else
  if (!opened) throw std::runtime_error(to_string(opened.error()));
#endif
  return *opened;
}

#define NEED_LIBRARY() \
  if (library() == nullptr) PLUMBLINE_SKIP_WITHOUT_GPU("the library finds no device")

double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::abs(b); }
// NaN must not vanish in a maximum.
void raise(double& largest, double value) {
  if (!(value <= largest)) largest = value;
}

// Every seventh row and the last, as in the comparison with quad precision.
RowSelection some_rows(const FilledProblem& filled) {
  RowSelection rows = filled.all_rows();
  std::vector<RowId> kept;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    if (r % 7 == 0 || r + 1 == rows.rows.size()) kept.push_back(rows.rows[r]);
  }
  rows.rows = kept;
  return rows;
}

double largest_value(const FilledProblem& filled) {
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(filled.geometry.v.elements); ++i) {
    const double v = std::abs(decode_at(filled.geometry.v.dtype, filled.v.data(), i));
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return largest;
}

struct Deviations {
  double o = 0, lse = 0, spre = 0, sigma = 0, bound = 0, lse_sigma = 0;
};

Deviations from_cpu(const Reference& result, const Reference& cpu, double largest_v) {
  Deviations worst;
  for (std::size_t i = 0; i < cpu.o.size(); ++i) {
    raise(worst.o, std::abs(result.o[i] - cpu.o[i]) / largest_v);
    raise(worst.spre, relative(result.spre[i], cpu.spre[i]));
    raise(worst.sigma, relative(result.sigma[i], cpu.sigma[i]));
    raise(worst.bound, relative(result.bound[i], cpu.bound[i]));
  }
  for (std::size_t r = 0; r < cpu.lse.size(); ++r) {
    raise(worst.lse, result.lse[r] == cpu.lse[r]
                         ? 0
                         : std::abs(result.lse[r] - cpu.lse[r]) / (1 + std::abs(cpu.lse[r])));
    raise(worst.lse_sigma, relative(result.lse_sigma[r], cpu.lse_sigma[r]));
  }
  return worst;
}

// `of_cpu` lists rows that the CPU computed, which have their own test.
Deviations from_quad(const Reference& result, const std::vector<std::size_t>& of_cpu,
                     const FilledProblem& filled, const RoundingSpec& spec) {
  Deviations worst;
  const QuadInputs inputs{filled.q.data(), filled.k.data(), filled.v.data()};
  for (std::size_t r = 0; r < result.selection.rows.size(); r += 3) {  // quad arithmetic is slow
    if (result.visible[r] == 0 || std::ranges::find(of_cpu, r) != of_cpu.end()) continue;
    const RowId& id = result.selection.rows[r];
    const QuadRow expected =
        quad_attention(filled.geometry, inputs, spec, id.sample, id.head, id.row);
    for (std::size_t j = 0; j < expected.o.size(); ++j) {
      const std::size_t at = r * expected.o.size() + j;
      raise(worst.o, std::abs(result.o[at] - expected.o[j]) / expected.largest_v);
      raise(worst.spre, relative(result.spre[at], expected.spre[j]));
      raise(worst.sigma, relative(result.sigma[at], expected.sigma[j]));
    }
    raise(worst.lse, std::abs(result.lse[r] - expected.lse) / (1 + std::abs(expected.lse)));
    raise(worst.lse_sigma, relative(result.lse_sigma[r], expected.lse_sigma));
  }
  return worst;
}

std::string id_of(const testing::TestParamInfo<Problem>& info) {
  std::string id = problem_id(info.param);
  for (char& c : id) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return id;
}

class ReferenceLibraryAgrees : public testing::TestWithParam<Problem> {};

// The CPU sums its scales in fp32 and agrees with quad precision within 1e-4. The library's scales
// are fp64, returned as fp32.
TEST_P(ReferenceLibraryAgrees, UnderEverySpec) {
  NEED_LIBRARY();
  const FilledProblem filled(GetParam());
  const RowSelection rows = some_rows(filled);
  if (const auto spec = strict_spec(GetParam()); !ReferenceLibrary::takes(GetParam(), spec)) {
    const auto refused = library()->compute(filled.geometry, filled.view(), spec, rows);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("not for this problem"));
    return;
  }
  for (const auto& [name, spec] : quad_specs(GetParam())) {
    SCOPED_TRACE(problem_id(GetParam()) + " spec " + name);
    if (!ReferenceLibrary::takes(GetParam(), spec)) continue;
    std::vector<std::size_t> rows_of_cpu;
    const auto result =
        library()->compute(filled.geometry, filled.view(), spec, rows, &rows_of_cpu);
    ASSERT_TRUE(result.has_value()) << to_string(result.error());
    const Reference cpu = compute_reference(filled.geometry, filled.view(), spec, rows);
    EXPECT_EQ(result->selection.rows, cpu.selection.rows);
    EXPECT_EQ(result->visible, cpu.visible);
    const Deviations of_cpu = from_cpu(*result, cpu, largest_value(filled));
    EXPECT_LE(of_cpu.o, 1e-12);
    EXPECT_LE(of_cpu.lse, 1e-12);
    EXPECT_LE(of_cpu.spre, 2e-4);
    EXPECT_LE(of_cpu.sigma, 2e-4);
    EXPECT_LE(of_cpu.bound, 2e-4);
    EXPECT_LE(of_cpu.lse_sigma, 2e-4);
    const Deviations of_quad = from_quad(*result, rows_of_cpu, filled, spec);
    EXPECT_LE(of_quad.o, fp64_tolerance(GetParam()));
    EXPECT_LE(of_quad.lse, fp64_tolerance(GetParam()));
    EXPECT_LE(of_quad.spre, 2e-7);
    EXPECT_LE(of_quad.sigma, 2e-7);
    EXPECT_LE(of_quad.lse_sigma, 2e-7);
    RecordProperty(
        name,
        fmt::format(
            "cpu {:.1e} {:.1e} {:.1e} {:.1e} {:.1e} {:.1e} quad {:.1e} {:.1e} {:.1e} {:.1e} {:.1e}",
            of_cpu.o, of_cpu.lse, of_cpu.spre, of_cpu.sigma, of_cpu.bound, of_cpu.lse_sigma,
            of_quad.o, of_quad.lse, of_quad.spre, of_quad.sigma, of_quad.lse_sigma));
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, ReferenceLibraryAgrees, testing::ValuesIn(quad_problems()),
                         id_of);

TEST(ReferenceLibrary, NonFiniteOutputsMatchCpu) {
  NEED_LIBRARY();
  Problem problem;
  problem.batch = 1;
  problem.heads_q = problem.heads_kv = 1;
  problem.seq_q = problem.seq_kv = 12;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.mask = Mask::causal_bottom_right;
  problem.dtype = DType::bf16;
  FilledProblem filled(problem);
  const auto set = [](std::vector<unsigned char>& tensor, std::size_t at, unsigned bits) {
    tensor[2 * at] = static_cast<unsigned char>(bits & 255U);
    tensor[2 * at + 1] = static_cast<unsigned char>(bits >> 8U);
  };
  set(filled.v, 7 * 16 + 3, 0x7f80);  // infinity at key 7
  set(filled.v, 9 * 16 + 4, 0x7fc0);  // NaN at key 9
  set(filled.k, 11 * 16, 0x7fc0);     // NaN in the last key
  const RowSelection rows = filled.all_rows();
  const auto result =
      library()->compute(filled.geometry, filled.view(), strict_spec(problem), rows);
  ASSERT_TRUE(result.has_value());
  const Reference cpu =
      compute_reference(filled.geometry, filled.view(), strict_spec(problem), rows);
  for (std::size_t i = 0; i < cpu.o.size(); ++i) {
    EXPECT_EQ(std::isnan(result->o[i]), std::isnan(cpu.o[i])) << i;
    if (std::isfinite(cpu.o[i])) {
      EXPECT_NEAR(result->o[i], cpu.o[i], 1e-13);
    } else if (std::isinf(cpu.o[i])) {
      EXPECT_EQ(result->o[i], cpu.o[i]);
    }
  }
}

TEST(ReferenceLibrary, UsedUnlessScoresAreRequested) {
  NEED_LIBRARY();
  Problem problem;
  problem.seq_q = problem.seq_kv = 9;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  const FilledProblem filled(problem);
  const auto compute = [&](const ReferenceOptions& options) {
    return compute_reference(filled.geometry, filled.view(), strict_spec(problem),
                             filled.all_rows(), options);
  };
  const auto served =
      library()->compute(filled.geometry, filled.view(), strict_spec(problem), filled.all_rows());
  ASSERT_TRUE(served.has_value());
  expect_same(compute({.library = library().get()}), *served);
  EXPECT_FALSE(same_bits(served->spre, compute({}).spre));  // the CPU sums in fp32
  expect_same(compute({.suite_scores = true, .library = library().get()}),
              compute({.suite_scores = true}));
}

// The library leaves two kinds of rows to the CPU: flat logits ("Local kappa" in
// docs/judging-formulas.md), and a repeating V with repeating weights (TA there).
TEST(ReferenceLibrary, LeavesRepeatingRowsToCpu) {
  NEED_LIBRARY();
  Problem problem;
  problem.seq_q = 5, problem.seq_kv = 300;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.dtype = DType::bf16;
  for (const Law law : {Law::normal, Law::near_uniform, Law::exact}) {
    problem.law = law;
    for (const DType p_dtype : {DType::bf16, DType::none}) {
      const FilledProblem filled(problem);
      RoundingSpec spec = strict_spec(problem);
      spec.p_dtype = p_dtype;
      std::vector<std::size_t> of_cpu;
      const auto served =
          library()->compute(filled.geometry, filled.view(), spec, filled.all_rows(), &of_cpu);
      ASSERT_TRUE(served.has_value());
      const bool repeats =
          law == Law::exact || (law == Law::near_uniform && p_dtype == DType::bf16);
      EXPECT_EQ(of_cpu.size(), repeats ? served->lse.size() : 0) << name(law);
    }
  }
}

TEST(ReferenceLibrary, LeavesFeaturesToCpu) {
  NEED_LIBRARY();
  int refused = 0;
  for (const Problem& problem : quad_problems()) {
    if (ReferenceLibrary::takes(problem, strict_spec(problem))) continue;
    const FilledProblem filled(problem);
    const RowSelection rows = some_rows(filled);
    EXPECT_FALSE(
        library()->compute(filled.geometry, filled.view(), strict_spec(problem), rows).has_value())
        << problem_id(problem);
    expect_same(compute_reference(filled.geometry, filled.view(), strict_spec(problem), rows,
                                  {.library = library().get()}),
                compute_reference(filled.geometry, filled.view(), strict_spec(problem), rows));
    ++refused;
  }
  EXPECT_GT(refused, 10);
}

TEST(ReferenceLibrary, OpenErrorNamesReason) {
  const auto missing = ReferenceLibrary::open("/nowhere/library.so");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(
      to_string(missing.error()).find("cannot load the reference library: /nowhere/library.so"),
      std::string::npos);
  const auto other = ReferenceLibrary::open("libm.so.6");
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(to_string(other.error()).find("libm.so.6 does not export plumbline_reference"),
            std::string::npos);
}

}  // namespace
}  // namespace plumbline
