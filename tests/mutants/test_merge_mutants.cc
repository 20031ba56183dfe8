// Each bug of a merge changes bits where it says; each legal variant stays near the correct one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

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

TEST(MergeCatalogue, NamesTheKernelsOfTheLibrary) {
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

TEST(MergeCatalogue, UsesTheWordsOfItsHeader) {
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

TEST_P(MergeMutants, ChangeBitsWhereTheySayAndNowhereElse) {
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

// Within a unit of the output and, of LSEs of 1000, what their rounding makes of the weights.
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
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace plumbline::testing
