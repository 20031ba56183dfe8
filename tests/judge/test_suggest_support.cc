// Suggested entries list refusals by kernel and reason, and never cover a problem that ran.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "harness/contract/suggest_support.h"
#include "tests/judge/files.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Refuses = std::function<std::string(const Problem&)>;  // the reason, or ""

// Returns combinations of dtypes, masks, layouts, shapes and features that a suite may have.
std::vector<Problem> many_problems() {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
      for (const Layout layout : {Layout::padded_bshd, Layout::ragged, Layout::paged_nhd}) {
        for (const std::int64_t heads_kv : {1, 2, 4}) {
          for (const std::int64_t seq_q : {1, 64}) {
            for (const double softcap : {0.0, 30.0}) {
              Problem p;
              p.dtype = dtype;
              p.mask = mask;
              p.layout = layout;
              p.heads_q = 4;
              p.heads_kv = heads_kv;
              p.seq_q = seq_q;
              p.seq_kv = 64;
              p.softcap = softcap;
              p.seed = problems.size();
              problems.push_back(p);
            }
          }
        }
      }
    }
  }
  return problems;
}

std::vector<TriedProblem> asked(const std::vector<Problem>& problems, const Refuses& refuses,
                                const std::string& kernel = "mine/k", const RunTarget& place = {}) {
  std::vector<TriedProblem> all;
  for (const Problem& problem : problems) {
    const std::string reason = refuses(problem);
    all.push_back(
        {kernel, problem, place, case_id({kernel, "cpu", problem}), !reason.empty(), reason});
  }
  return all;
}

std::vector<std::string> texts(const SuggestedSupport& suggested) {
  std::vector<std::string> all;
  for (const SuggestedEntry& entry : suggested.entries) all.push_back(entry_text(entry.entry));
  return all;
}

// Expects a table of the suggested entries to list exactly the problems that the kernel refused.
void expect_explained(const std::vector<TriedProblem>& problems,
                      const SuggestedSupport& suggested) {
  std::string text = "schema = 1\n";
  for (const std::string& entry : texts(suggested)) text += entry;
  const auto table = SupportTable::read(TemporaryFile(text).path());
  ASSERT_TRUE(table) << to_string(table.error()) << text;
  int wrong = 0;
  for (const TriedProblem& p : problems)
    wrong += table->unsupported(p.kernel, p.problem, p.place).has_value() != p.refused;
  EXPECT_EQ(wrong, 0) << text;
}

TEST(SuggestSupport, OneFieldPerReason) {
  const auto problems = asked(many_problems(), [](const Problem& p) -> std::string {
    if (p.dtype == DType::f32) return "only 16 bits";
    if (p.softcap != 0) return "no softcap";
    return "";
  });
  const auto suggested = suggest_support(problems);
  EXPECT_THAT(texts(suggested),
              ElementsAre("[[unsupported]]\nkernel = \"mine/k\"\nwhere = { softcap = [30] "
                          "}\nreason = \"no softcap\"\n",
                          "[[unsupported]]\nkernel = \"mine/k\"\nwhere = { dtype = [\"fp32\"] "
                          "}\nreason = \"only 16 bits\"\n"));
  expect_explained(problems, suggested);
}

// Neither the mask nor the lengths alone are refused.
TEST(SuggestSupport, CombinesFields) {
  const auto problems = asked(many_problems(), [](const Problem& p) -> std::string {
    if (p.mask == Mask::causal_top_left && p.seq_q != p.seq_kv) return "is_causal is top left";
    if (p.group() != 1) return fmt::format("{} query heads share a key head", p.group());
    return "";
  });
  const auto suggested = suggest_support(problems);
  EXPECT_THAT(texts(suggested),
              testing::UnorderedElementsAre(
                  "[[unsupported]]\nkernel = \"mine/k\"\nwhere = { group = [4, 2] }\nreason "
                  "= \"4 query heads share a key head\"\n",
                  testing::AllOf(testing::HasSubstr("mask = [\"causal_top_left\"]"),
                                 testing::HasSubstr("reason = \"is_causal is top left\""))));
  expect_explained(problems, suggested);
}

TEST(SuggestSupport, OneEntryPerKernel) {
  const Refuses refuses = [](const Problem& p) -> std::string {
    return p.layout == Layout::padded_bshd ? "" : "only padded";
  };
  auto problems = asked(many_problems(), refuses);
  for (const TriedProblem& more : asked(many_problems(), refuses, "mine/twin"))
    problems.push_back(more);
  for (const TriedProblem& more : asked(
           many_problems(), [](const Problem&) { return ""; }, "mine/all"))
    problems.push_back(more);
  const auto suggested = suggest_support(problems);
  ASSERT_THAT(suggested.entries, SizeIs(2));
  EXPECT_THAT(suggested.entries[0].entry.kernels, ElementsAre("mine/k"));
  EXPECT_THAT(suggested.entries[1].entry.kernels, ElementsAre("mine/twin"));
  for (const SuggestedEntry& entry : suggested.entries)
    EXPECT_EQ(entry.refusals, many_problems().size() * 2 / 3);
  expect_explained(problems, suggested);
}

TEST(SuggestSupport, RefusedDeviceIsCondition) {
  auto problems =
      asked(many_problems(), [](const Problem&) { return "needs a GPU"; }, "mine/k", {"cpu", ""});
  for (const TriedProblem& more :
       asked(many_problems(), [](const Problem&) { return ""; }, "mine/k", {"cuda:1", "sm_90"}))
    problems.push_back(more);
  const auto suggested = suggest_support(problems);
  EXPECT_THAT(texts(suggested), ElementsAre("[[unsupported]]\nkernel = \"mine/k\"\ndevice = "
                                            "[\"cpu\"]\nreason = \"needs a GPU\"\n"));
  expect_explained(problems, suggested);
}

TEST(SuggestSupport, MarksKernelsWithoutRuns) {
  const auto problems = asked(many_problems(), [](const Problem&) { return "no"; });
  const auto suggested = suggest_support(problems);
  EXPECT_THAT(texts(suggested),
              ElementsAre("[[unsupported]]\nkernel = \"mine/k\"\nreason = \"no\"\n"));
  EXPECT_TRUE(suggested.entries.at(0).nothing_ran);
  EXPECT_THAT(suggest_support({}).entries, IsEmpty());
}

TEST(SuggestSupport, ListsInseparableCases) {
  Problem problem;
  auto problems = asked({problem}, [](const Problem&) { return "today not"; });
  problems.push_back(problems.front());
  problems.back().refused = false;
  problems.back().case_id = "another";
  const auto suggested = suggest_support(problems);
  EXPECT_THAT(suggested.entries, IsEmpty());
  EXPECT_THAT(suggested.inseparable,
              ElementsAre(testing::Pair(problems.front().case_id, "another")));
}

// The entries list exactly the refused problems, even if the refusals follow no rule.
TEST(SuggestSupport, ArbitraryRefusalsAreExplained) {
  const auto all = many_problems();
  for (int seed = 1; seed <= 3; ++seed) {
    std::vector<Problem> some;
    for (std::size_t i = static_cast<std::size_t>(seed); i < all.size(); i += 7)
      some.push_back(all[i]);
    int n = seed;
    const auto problems = asked(some, [&n](const Problem&) -> std::string {
      n = n * 1103 % 4001;
      return n % 4 == 0 ? "a whim" : "";
    });
    expect_explained(problems, suggest_support(problems));
  }
}

}  // namespace
}  // namespace plumbline
