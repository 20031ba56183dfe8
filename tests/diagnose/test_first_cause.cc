// Tests which cause comes first, how a place differs from it, and how failures share the time.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_problems.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/causes.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;
using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using test::write_rows;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Even if every search takes all of its time, each group gets a search.
TEST(CauseBudget, EachGroupGetsSearch) {
  CauseBudget budget(seconds(20), seconds(3));
  for (int group = 0; group < 200; ++group) {
    const microseconds time = budget.time_for("kernel " + std::to_string(group));
    ASSERT_GE(time, microseconds(seconds(3)) / 16) << group;
    ASSERT_LE(time, seconds(3)) << group;
    budget.take(time);
  }
  EXPECT_EQ(budget.time_for("kernel 0"), microseconds(0));
}

TEST(CauseBudget, FurtherFailuresLeaveHalf) {
  CauseBudget budget(seconds(20), seconds(3));
  EXPECT_EQ(budget.time_for("a"), seconds(3));
  budget.take(seconds(9));
  EXPECT_GT(budget.time_for("a"), seconds(1));
  budget.take(seconds(1));
  EXPECT_EQ(budget.time_for("a"), microseconds(0));
  EXPECT_GT(budget.time_for("b"), seconds(1));
}

// Returns an output that lacks the problem's causal mask.
FilledProblem lacking_mask() {
  Problem problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  problem.mask = Mask::none;
  write_rows(filled, compute_reference(Geometry(problem), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  return filled;
}

TEST(FirstCause, EachKindOfFailureGetsSearch) {
  const FilledProblem filled = lacking_mask();
  FailingProblem failing(filled);
  CauseBudget spent_at_once(microseconds(1), hours(1));
  const auto explains = [&](const char* kernel) {
    return first_cause(failing.output, kernel, spent_at_once).explains;
  };
  EXPECT_TRUE(explains("test/a"));
  EXPECT_TRUE(explains("test/b"));
  EXPECT_FALSE(explains("test/a"));
  Faults out_of_range;
  out_of_range.out_of_range = 1;
  failing.output.faults = &out_of_range;
  EXPECT_TRUE(explains("test/a"));
  EXPECT_FALSE(explains("test/a"));
}

TEST(FirstCause, CutSearchLeavesRemark) {
  const FilledProblem filled = lacking_mask();
  const FailingProblem failing(filled);
  CauseBudget budget(hours(1), microseconds(1));
  const FirstCause cause = first_cause(failing.output, "test/kernel", budget);
  EXPECT_FALSE(cause.explains);
  EXPECT_THAT(cause.sentence, HasSubstr("the time of a search was spent"));
}

// Returns the causes of an output that is 1.5 times too large, without a search.
std::vector<std::string> pattern_at(const Location& location, const Faults& faults = {}) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::int64_t j = 0; j < filled.reference.columns; ++j)
      filled.set(filled.reference.selection.rows[r], j,
                 1.5 * filled.expected(r, static_cast<std::size_t>(j)));
  }
  FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  failing.output.location = &location;
  failing.output.faults = &faults;
  failing.output.late = [] { return true; };
  return causes(failing.output);
}

TEST(Pattern, NamesPlaceAlone) {
  const std::string edge = "the last visible key weighs too little",
                    key =
                        "key 19, the sample's last key, of key head 0 in sample 1 weighs too "
                        "little",
                    scale = "the logits are too large (softmax scale, softcap or exp2)";
  EXPECT_THAT(pattern_at({.kind = LocationKind::edge, .text = edge}), ElementsAre(edge));
  EXPECT_THAT(pattern_at({.kind = LocationKind::key, .text = key}), ElementsAre(key));
  EXPECT_THAT(pattern_at({.kind = LocationKind::scale, .text = scale, .share = 0.8}),
              ElementsAre(scale));
  EXPECT_THAT(pattern_at({.kind = LocationKind::scale, .text = scale, .share = 0.7}), IsEmpty());
  EXPECT_THAT(pattern_at({.kind = LocationKind::denominator,
                          .text = "the outputs are too large (denominator, rescale or "
                                  "truncation)"}),
              ElementsAre("the outputs are 50 % too large (denominator, rescale or numbers that "
                          "are cut off)"));
  Faults out_of_range;
  out_of_range.out_of_range = 1;
  EXPECT_THAT(pattern_at({}, out_of_range),
              ElementsAre("values outside the range of v, which no weighted mean can reach"));
}

// The query sees keys 96 to 127. Without every 32nd key from key 31 on, it lacks only the last one.
TEST(Causes, LastKeyOfDecodeIsOffByOne) {
  Problem problem = small_problem();
  problem.seq_q = 1;
  problem.seq_kv = 128;
  problem.mask = Mask::causal_bottom_right;
  problem.window_left = 31;
  FilledProblem filled(problem);
  StatedLayout layout = layout_of(filled.geometry, true);
  for (KeyRange& keys : layout.visible) --keys.end;
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  const auto sentences = causes(failing.output);
  EXPECT_EQ(sentences.front(),
            "would be explained if no query saw its own key: the mask is off by one");
  EXPECT_THAT(sentences, testing::Contains(HasSubstr("every 32nd key, from key 31 on")));
}

TEST(Alternatives, SimplestComesFirst) {
  Problem problem = small_problem();
  problem.seq_kv = 80;
  problem.mask = Mask::causal_bottom_right;
  problem.softcap = 5;
  const FilledProblem filled(problem);
  std::vector<std::string> sentences;
  visit_alternatives(FailingProblem(filled).output, [&](const AlternativeProblem& other) {
    sentences.push_back(other.sentence);
    return true;
  });
  std::vector<std::size_t> places;
  for (const char* sentence :
       {"without the causal mask", "if no query saw its own key: the mask is off by one",
        "if the softcap were not applied", "if each sample's last 2 keys were not seen",
        "if every 2nd key, from key 1 on, were not seen"}) {
    places.push_back(
        static_cast<std::size_t>(std::ranges::find(sentences, sentence) - sentences.begin()));
    EXPECT_LT(places.back(), sentences.size()) << sentence;
  }
  EXPECT_TRUE(std::ranges::is_sorted(places));
}

}  // namespace
}  // namespace plumbline
