// Legal kernels raise no alarm. The CPU kernels, retiled, go through the whole harness with every
// law of Q, K and V, dtype and output dtype, each judged by its contract.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sigma/conformance.h"

namespace plumbline::test {
namespace {

constexpr auto laws = all<Law>();
constexpr auto v_laws = all<VLaw>();
constexpr std::array kernels{
    "cpu/naive",      "cpu/flash", "cpu/flash_p32", "cpu/split_kv", "cpu/flash_denominator",
    "cpu/split_kv_16"};
constexpr int kernels_with_fp32 = 2;  // flash_p32 and split_kv
// flash, split_kv, flash_denominator, split_kv_16; two dtypes; shrink and temperature
constexpr int judged_scores = 4 * 2 * 2;
constexpr int v_law_count = static_cast<int>(v_laws.size()),
              law_count = static_cast<int>(laws.size());
constexpr int problems_16_bit = 2 * law_count * v_law_count * 2,
              problems_fp32 = law_count * v_law_count;

// A legal retiling and the shape for its test.
struct Retiling {
  const char* name;
  const char* options;
  void (*set)(Problem& problem);
};
const std::vector<Retiling> retilings{
    {"plain", "", [](Problem& p) { p.seq_q = 9, p.seq_kv = 130; }},
    {"reversed", "tile_kv=32,reverse=1",
     [](Problem& p) { p.seq_q = 5, p.seq_kv = 300, p.mask = Mask::causal_bottom_right; }},
    {"lazy", "tile=8x40,lazy=1",
     [](Problem& p) {
       p.seq_q = 17, p.seq_kv = 100, p.mask = Mask::causal_bottom_right, p.window_left = 40;
     }},
    {"reversed_lazy", "tile_kv=16,reverse=1,lazy=1",
     [](Problem& p) {
       p.batch = 4, p.seq_q = 1, p.seq_kv = 257, p.lengths = Lengths::random,
       p.layout = Layout::paged_nhd;
     }},
    {"one_row", "", [](Problem& p) { p.seq_q = 1, p.seq_kv = 200; }},
    {"few_keys", "tile=3x8",
     [](Problem& p) { p.seq_q = p.seq_kv = 12, p.mask = Mask::causal_top_left; }},
};

// Each problem has its own seed: suite statistics assume independent scores, and cases that share Q
// and K share the error of P.
std::vector<Problem> problems(const Retiling& retiling) {
  std::vector<Problem> all;
  Problem problem;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  retiling.set(problem);
  problem.seed = 0;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    for (const DType out : {dtype, DType::f32}) {
      for (const Law law : laws) {
        for (const VLaw v_law : v_laws) {
          problem.dtype = dtype;
          problem.out_dtype = out;
          problem.law = law;
          problem.v_law = v_law;
          ++problem.seed;
          all.push_back(canonical(problem));
        }
      }
      if (dtype == DType::f32) break;
    }
  }
  return all;
}

Plan plan_of(const Retiling& retiling) {
  Plan plan;
  for (const Problem& problem : problems(retiling)) {
    for (const char* kernel : kernels) {
      PlannedCase planned;
      planned.suite = "sigma";
      planned.group = retiling.name;
      planned.c = {kernel, "cpu", problem};
      planned.case_id = case_id(planned.c);
      plan.cases.push_back(std::move(planned));
    }
  }
  return plan;
}

void PrintTo(const Retiling& of, std::ostream* to) { *to << of.name; }
class LegalKernels : public testing::TestWithParam<Retiling> {};

TEST_P(LegalKernels, RaiseNoAlarm) {
  const auto text = reviewed_text();
  ASSERT_TRUE(text) << to_string(text.error());
  const MeasureOptions options = cpu_provider(GetParam().options);
  const auto providers = discover(options);
  ASSERT_TRUE(providers) << to_string(providers.error());
  const Runner runner{options, *providers, text->contracts};
  RunSession session(cli::this_run("test", "", "plumbline run", {}), runner, *text, nullptr);
  const auto done = session.execute(plan_of(GetParam()), false, [] {});
  ASSERT_TRUE(done) << to_string(done.error());

  expect_no_alarm(session, GetParam().name);
  std::vector<const Outcome*> outcomes;
  for (const StoredOutcome& stored : session.outcomes()) outcomes.push_back(&stored.outcome);
  const auto scores = judge_suites(outcomes, text->contracts,
                                   std::vector<const Baseline*>(outcomes.size(), nullptr), true);
  expect_no_alarm(scores, GetParam().name);
  EXPECT_EQ(std::count_if(scores.begin(), scores.end(),
                          [](const SuiteScore& score) { return score.status == "pass"; }),
            judged_scores);

  const int refused = static_cast<int>(kernels.size() - kernels_with_fp32) * problems_fp32;
  const int all = static_cast<int>(kernels.size()) * (problems_16_bit + problems_fp32);
  EXPECT_EQ(count(session, Verdict::unsupported), refused);
  EXPECT_EQ(count(session, Verdict::first_seen), all - refused);
  const auto nearest = std::max_element(
      session.outcomes().begin(), session.outcomes().end(), [](const auto& a, const auto& b) {
        return a.judgement.percent_of_limit < b.judgement.percent_of_limit;
      });
  fmt::print("{} cases, nearest to its limit: {} at {:.0f} % of {}'s\n", all - refused,
             nearest->outcome.case_id, nearest->judgement.percent_of_limit,
             nearest->judgement.nearest_statistic);
}

INSTANTIATE_TEST_SUITE_P(Sigma, LegalKernels, testing::ValuesIn(retilings),
                         [](const auto& at) { return at.param.name; });

}  // namespace
}  // namespace plumbline::test
