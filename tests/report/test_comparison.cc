// The comparison of two runs: what it lists, in which order, and what counts as a change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/enumeration.h"
#include "harness/report/comparison.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ComparedCase same(const std::string& id) {
  ComparedCase c;
  c.suite = "s";
  c.case_id = id;
  c.before = {Verdict::pass, 0.8, 4.0, 1e6, "", std::string(32, 'a'), "build-1", "cpu", ""};
  c.after = c.before;
  c.time_noise = 1.05;
  return c;
}

RunComparison comparison_of(std::vector<ComparedCase> cases) {
  RunComparison comparison;
  comparison.before = "night 1", comparison.after = "night 2";
  comparison.runs_before = {"run-1"}, comparison.runs_after = {"run-2", "run-3"};
  comparison.cases = std::move(cases);
  return comparison;
}

TEST(Comparison, EmptyIfNothingChanged) {
  const std::string text = render_comparison(comparison_of({same("a/b/c")}), {false, 80});
  EXPECT_EQ(text,
            "1 case in both, 1 with equal bits; 0 only in night 1, 0 only in night 2\n"
            "time relative to the sentinel: 0 slower and 0 faster cases (beyond noise)\n");
}

TEST(Comparison, TimesSortedByChange) {
  ComparedCase slow = same("k/slow/x"), fast = same("k/fast/x"), noisy = same("k/noisy/x");
  slow.after.time_ratio = 4.4, slow.after.time_ns = 1.1e6;
  fast.after.time_ratio = 2.0, fast.after.time_ns = 0.5e6;
  noisy.after.time_ratio = 4.1;
  const std::string text = render_comparison(comparison_of({slow, fast, noisy}), {false, 80});
  EXPECT_THAT(text, AllOf(HasSubstr("1.1 ms"), HasSubstr("1.100"), HasSubstr("0.500"),
                          HasSubstr("1 slower and 1 faster"), Not(HasSubstr("noisy"))));
  EXPECT_LT(text.find("k/fast"), text.find("k/slow")) << "the largest first";
  RunComparison all = comparison_of({noisy});
  all.all = true;
  EXPECT_THAT(render_comparison(all, {false, 80}), HasSubstr("noisy"));
}

TEST(Comparison, ListsVerdictsAndErrors) {
  ComparedCase worse = same("k/worse/x");
  worse.after.verdict = Verdict::fail;
  worse.after.rms = 2.4;
  worse.after.output_digest = std::string(32, 'b');
  const std::string text = render_comparison(comparison_of({worse}), {false, 80});
  EXPECT_THAT(text, AllOf(HasSubstr("pass -> fail"), HasSubstr("3.000"), HasSubstr("differ")));
  const std::string json = json_of_comparison(comparison_of({worse}));
  EXPECT_THAT(json, AllOf(HasSubstr("\"before\": \"run-1\""), HasSubstr("\"after\": \"night 2\""),
                          HasSubstr("\"bits_equal\": false")));
}

TEST(Comparison, StateOfWorstStandingChange) {
  for (const Verdict verdict : all<Verdict>()) {
    ComparedCase changed = same("k/changed/x");
    changed.after.verdict = verdict;
    const Standing standing = standing_of(verdict);
    EXPECT_EQ(comparison_of({same("k/same/x"), changed}).state(),
              standing == Standing::failure ? RunState::not_fine
              : standing == Standing::fine  ? RunState::fine
                                            : RunState::open)
        << name(verdict);
    changed.before.verdict = verdict;
    EXPECT_EQ(comparison_of({changed}).state(), RunState::fine) << name(verdict) << ", as before";
  }
}

TEST(Comparison, IgnoresTimesOfOtherMachines) {
  ComparedCase other = same("k/other/x");
  other.same_class = false;
  other.after.time_ratio = 40;
  EXPECT_FALSE(other.is_slower());
  EXPECT_THAT(render_comparison(comparison_of({other}), {false, 80}), HasSubstr("0 slower"));
  ComparedCase untimed = same("k/untimed/x");
  untimed.before.time_ratio = 0;
  EXPECT_FALSE(untimed.is_slower());
}

TEST(Comparison, CountsManyChangedBits) {
  std::vector<ComparedCase> cases;
  for (int i = 0; i < 30; ++i) {
    cases.push_back(same("k/c" + std::to_string(i) + "/x"));
    cases.back().after.output_digest = std::string(32, 'b');
  }
  EXPECT_THAT(render_comparison(comparison_of(cases), {false, 80}),
              HasSubstr("and 10 cases more with other bits: --all shows them"));
}

}  // namespace
}  // namespace plumbline
