// Each bug of a merge changes bits in the modes it lists; legal variants stay close to the correct
// one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/reference/reference.h"
#include "tests/mutants/answers.h"
#include "tests/mutants/catalogue.h"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::UnorderedElementsAreArray;

const Library& library() {
  static const Library opened(PLUMBLINE_MERGE_MUTANTS_LIBRARY);
  return opened;
}
Catalogue merge_catalogue() { return read_catalogue(PLUMBLINE_MERGE_MUTANTS_TOML); }

Problem states(DType dtype, Merge merge, Law law) {
  Problem problem;
  problem.dtype = dtype;
  problem.merge = merge;
  problem.law = law;
  problem.batch = 20;
  problem.heads_q = problem.heads_kv = 2;
  problem.seq_q = 1;
  problem.seq_kv = 4;
  problem.head_dim_qk = 1;
  problem.head_dim_vo = 24;
  return problem;
}
std::vector<Problem> problems(DType dtype) {
  std::vector<Problem> list{states(dtype, Merge::natural, Law::llm),
                            states(dtype, Merge::base_2, Law::normal),
                            states(dtype, Merge::natural, Law::extreme)};
  list.push_back(list.front());
  list.back().mask = Mask::custom, list.back().fill = Fill::nan;
  return list;
}

Answer run(const std::string& kernel, const Filled& filled) {
  return call(kernel, filled.geometry, filled.inputs, {.library = &library()});
}

TEST(MergeCatalogue, NamesKernelsOfLibrary) {
  const Catalogue catalogue = merge_catalogue();
  std::vector<std::string> named = catalogue.legal, offered;
  for (const Mutant& mutant : catalogue.mutants) named.push_back(mutant.name);
  const plumbline_provider* provider = library().provider();
  ASSERT_NE(provider, nullptr);
  EXPECT_STREQ(provider->name, "merge_mutants");
  for (std::uint32_t i = 0; i < provider->kernel_count; ++i) {
    offered.emplace_back(provider->kernel_name(i));
    EXPECT_EQ(provider->kernel_question(i), PLUMBLINE_MERGE);
  }
  EXPECT_THAT(offered, UnorderedElementsAreArray(named));
  EXPECT_GE(catalogue.mutants.size(), 20U);
}

TEST(MergeCatalogue, UsesWordsOfHeader) {
  const std::set<std::string> needs{"base_2",  "natural",  "extreme", "parts_3",
                                    "no_keys", "nan_fill", "lse"};
  std::set<std::string> names, classes;
  for (const Mutant& mutant : read_catalogue().mutants) names.insert(mutant.name);
  for (const Mutant& mutant : merge_catalogue().mutants) {
    EXPECT_TRUE(names.insert(mutant.name).second)
        << mutant.name << " stands twice, here or in mutants.toml";
    EXPECT_EQ(mutant.mutant_class, mutant.name.substr(0, mutant.name.find('_')));
    EXPECT_FALSE(mutant.what.empty()) << mutant.name;
    for (const std::string& need : mutant.needs) EXPECT_THAT(needs, Contains(need)) << mutant.name;
    classes.insert(mutant.mutant_class);
  }
  EXPECT_THAT(classes, UnorderedElementsAreArray(
                           {"base", "softmax", "part", "empty", "index", "lse", "precision"}));
}

class MergeMutants : public ::testing::TestWithParam<DType> {};

TEST_P(MergeMutants, ChangeBitsOnlyInListedModes) {
  std::vector<std::pair<Filled, Answer>> correct;
  for (const Problem& problem : problems(GetParam())) {
    const Filled filled(problem);
    correct.emplace_back(filled, run("legal_baseline", filled));
    ASSERT_EQ(correct.back().second.status, PLUMBLINE_OK) << correct.back().second.reason;
  }
  const std::string mode(name(GetParam()));
  for (const Mutant& mutant : merge_catalogue().mutants) {
    bool changed = false;
    for (const auto& [filled, expected] : correct)
      changed = changed || !same_bits(run(mutant.name, filled), expected);
    const bool says = mutant.modes.empty() || std::find(mutant.modes.begin(), mutant.modes.end(),
                                                        mode) != mutant.modes.end();
    EXPECT_EQ(changed, says) << mutant.name;
  }
}

// The statistics that have limits (docs/judging.md), and whether there is a fault.
struct Judged {
  double peak = 0, beyond = 0, rms = 0, lse = 0;
  bool is_faulty = false;
  bool is_within_limits(DType out) const {
    return !is_faulty && peak <= 6.5 && beyond <= 6.5 && rms <= (out == DType::f32 ? 1.8 : 1.35) &&
           lse <= 6;
  }
};

Judged judged(const Filled& filled, const Answer& answer) {
  const Geometry& geometry = filled.geometry;
  const Problem& problem = geometry.problem();
  const Reference reference = compute_reference(
      geometry, {filled.inputs.q.data(), filled.inputs.k.data(), filled.inputs.v.data()},
      strict_spec(problem), select_rows(geometry, 1e18));
  const RowIndex index(geometry);
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  const double unit = problem.merge == Merge::base_2 ? std::log(2.0) : 1;
  Judged result;
  double squares = 0, elements = 0;
  for (std::size_t r = 0; r < reference.lse.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    const std::size_t at = index.row(id.sample, id.head, id.row);
    const bool is_empty = reference.visible[r] == 0;
    const double lse = answer.lse[at] * unit;
    if (is_empty || !std::isfinite(lse)) {
      result.is_faulty |= !(is_empty && lse == reference.lse[r]);
    } else {
      result.lse = std::max(result.lse, std::abs(lse - reference.lse[r]) / reference.lse_sigma[r]);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const double got = answer.out[at * columns + j], o = reference.o[r * columns + j],
                   error = std::abs(got - o);
      if (is_empty || !std::isfinite(got)) {
        result.is_faulty |= !(is_empty && got == 0);
        continue;
      }
      const double z = error / reference.sigma[r * columns + j];
      const double rest = std::max(0.0, error - ulp(o, problem.out()) / 2);
      result.peak = std::max(result.peak, z);
      result.beyond = std::max(result.beyond, rest / reference.spre[r * columns + j]);
      squares += z * z, ++elements;
    }
  }
  result.rms = std::sqrt(squares / elements);
  return result;
}

TEST_P(MergeMutants, OnlyBugsExceedLimits) {
  const Catalogue catalogue = merge_catalogue();
  std::vector<Filled> asked;
  for (const Problem& problem : problems(GetParam())) asked.emplace_back(problem);
  for (const std::string& kernel : catalogue.legal) {
    for (const Filled& filled : asked) {
      const Judged result = judged(filled, run(kernel, filled));
      EXPECT_TRUE(result.is_within_limits(GetParam()))
          << kernel << " " << problem_id(filled.geometry.problem()) << ": peak " << result.peak
          << ", beyond output rounding " << result.beyond << ", rms " << result.rms << ", lse "
          << result.lse << ", fault " << result.is_faulty;
    }
  }
  const std::string mode(name(GetParam()));
  for (const Mutant& mutant : catalogue.mutants) {
    if (!mutant.modes.empty() &&
        std::find(mutant.modes.begin(), mutant.modes.end(), mode) == mutant.modes.end())
      continue;
    EXPECT_TRUE(std::any_of(asked.begin(), asked.end(), [&](const Filled& filled) {
      return !judged(filled, run(mutant.name, filled)).is_within_limits(GetParam());
    })) << mutant.name;
  }
}

// Within one ulp of the output, plus the effect of rounding LSEs of 1000 on the weights.
TEST_P(MergeMutants, LegalVariantsAgree) {
  for (const Problem& problem : problems(GetParam())) {
    const Filled filled(problem);
    const Answer expected = run("legal_baseline", filled);
    const bool large = problem.law == Law::extreme;
    for (const std::string& kernel : merge_catalogue().legal) {
      const Answer answer = run(kernel, filled);
      for (std::size_t i = 0; i < answer.out.size(); ++i) {
        const double limit = ulp(expected.out[i], problem.out()) + (large ? 1e-3 : 5e-6);
        EXPECT_LE(std::abs(answer.out[i] - expected.out[i]), limit) << kernel;
      }
      for (std::size_t i = 0; i < answer.lse.size(); ++i) {
        if (answer.lse[i] != expected.lse[i]) {
          EXPECT_LE(std::abs(answer.lse[i] - expected.lse[i]), large ? 1e-3 : 5e-6) << kernel;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, MergeMutants,
                         ::testing::Values(DType::f16, DType::bf16, DType::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace plumbline::testing
