// Kernel globs, filters and expected failures select exactly the right cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "harness/suite/plan.h"

namespace plumbline {
namespace {

const std::vector<OfferedKernel> kernels{{"cpu/flash"}, {"cpu/flash_p32"}, {"mine/fast"}};

Suite suite_from(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("plan_test_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << text;
  auto suite = read_suite(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(suite) << to_string(suite.error());
  return suite ? *suite : Suite{};
}

Suite two_groups() {
  return suite_from(R"(
schema = 1
name = "s"
[[group]]
name = "a"
reason = "r"
kernels = ["cpu/*"]
product = { dtype = ["fp16", "bf16"], seq = [8, 16, 32] }
[[group]]
name = "b"
reason = "r"
tier = "nightly"
kernels = ["mine/fast", "cpu/flash"]
set = { seq = 8 }
[[diff]]
name = "d"
reason = "r"
set = { seq = 8 }
a = { kernel = "cpu/flash" }
b = { kernel = "mine/fast" }
)");
}

TEST(Plan, ExpandsKernelGlobs) {
  const auto plan = make_plan({two_groups()}, kernels, {});
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->diffs.size(), 1U);
  EXPECT_FALSE(plan->partial);
  // 2 kernels x 6 problems, and mine/fast. cpu/flash bf16 seq 8 is in both groups and is kept once.
  EXPECT_EQ(plan->cases.size(), 13U);
}

TEST(Plan, KernelsGetOnlyMatchingOperation) {
  const std::vector<OfferedKernel> offered{{"cpu/flash"}, {"cpu/merge", "none", {}, "merge"}};
  const Suite suite = suite_from(R"(
schema = 1
name = "s"
[[group]]
name = "attention"
reason = "r"
kernels = ["cpu/*"]
[[group]]
name = "merges"
reason = "r"
kernels = ["cpu/*"]
set = { merge = "base_2", seq_kv = 3, head_dim_qk = 1 }
)");
  const auto plan = make_plan({suite}, offered, {});
  ASSERT_TRUE(plan) << to_string(plan.error());
  ASSERT_EQ(plan->cases.size(), 2U);
  EXPECT_EQ(plan->cases[0].c.kernel, "cpu/flash");
  EXPECT_EQ(plan->cases[1].case_id, "cpu/merge/bf16/b1-h1-s1x3-d1x64/merge=base_2");

  const auto none = make_plan({suite}, {{"cpu/flash"}}, {});
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error()),
              testing::HasSubstr("no kernel that matches \"cpu/*\" is one for merge"));

  // --kernel takes only the cases of the kernel's operation.
  std::vector<Suite> suites{suite};
  use_kernels(suites, {"cpu/flash"});
  const auto redirected = make_plan(suites, offered, {});
  ASSERT_TRUE(redirected) << to_string(redirected.error());
  ASSERT_EQ(redirected->cases.size(), 1U);
  EXPECT_FALSE(redirected->cases[0].c.problem.is_merge());
}

TEST(Plan, ProviderGlobSkipsGpuKernelsOnCpu) {
  const std::vector<OfferedKernel> all{{"cpu/flash"}, {"emulated/flash"}, {"cuda/flash"}};
  const auto kernels_on = [&](const std::string& pattern, const std::string& device) {
    Suite suite = two_groups();
    suite.diffs.clear();
    suite.cases.resize(1);
    suite.cases[0].kernel_pattern = pattern;
    suite.cases[0].device = device;
    std::vector<std::string> names;
    const auto plan = make_plan({suite}, all, {});
    if (plan) {
      for (const PlannedCase& c : plan->cases) names.push_back(c.c.kernel);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(kernels_on("*/flash", "cpu"), Names{"cpu/flash"});
  EXPECT_EQ(kernels_on("emulated/*", "cpu"), Names{"emulated/flash"})
      << "named: it refuses with its reason";
  EXPECT_EQ(kernels_on("*/flash", "emulated:sm_90").size(), 3U);
}

// The command line at the head of cases/nightly.toml: a CPU kernel, and --exclude of cases on
// emulated devices.
TEST(Plan, FilteredDeviceIsNotAnError) {
  const std::vector<OfferedKernel> offered{{"mine/fast", "none", {"cpu"}}};
  std::vector<Suite> suites{two_groups()};
  suites[0].cases.front().device = "emulated:sm_90";
  use_kernels(suites, {"mine/*"});
  const auto all = make_plan(suites, offered, {});
  ASSERT_FALSE(all);
  EXPECT_THAT(to_string(all.error()),
              testing::HasSubstr("no kernel that matches \"mine/*\" runs on emulated:sm_90"));
  CaseFilter filter;
  filter.exclude = {"*/device=emulated:*"};
  const auto rest = make_plan(suites, offered, filter);
  ASSERT_TRUE(rest) << to_string(rest.error());
  EXPECT_TRUE(rest->partial);
  Suite on_cpu = suites[0];
  on_cpu.cases.erase(on_cpu.cases.begin());
  const auto expected = make_plan({on_cpu}, offered, {});
  ASSERT_TRUE(expected) << to_string(expected.error());
  EXPECT_EQ(rest->cases.size(), expected->cases.size());
  EXPECT_GT(rest->cases.size(), 0U);
  filter.exclude = {"*/device=cuda:*"};
  EXPECT_FALSE(make_plan(suites, offered, filter)) << "what is not dropped remains an error";
}

TEST(Plan, FiltersByTierAndGlob) {
  CaseFilter smoke;
  smoke.tier = Tier::smoke;
  EXPECT_EQ(make_plan({two_groups()}, kernels, smoke)->cases.size(), 12U);
  CaseFilter match;
  match.match = {"s/a/*bf16*"};
  EXPECT_EQ(make_plan({two_groups()}, kernels, match)->cases.size(), 6U);
  match.exclude = {"cpu/flash_p32/*"};
  EXPECT_EQ(make_plan({two_groups()}, kernels, match)->cases.size(), 3U);
}

TEST(Plan, UnknownKernelErrorNamesLine) {
  const auto plan = make_plan({two_groups()}, std::vector<OfferedKernel>{{"cpu/flash"}}, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(to_string(plan.error()), testing::HasSubstr("no kernel matches \"mine/fast\""));
  EXPECT_THAT(to_string(plan.error()),
              testing::HasSubstr("no provider called \"mine\" is loaded; there are cpu/*"));
  EXPECT_GT(plan.error().front().line, 0);
}

TEST(Plan, OtherKernelsRunTheSameProblems) {
  std::vector<Suite> suites{two_groups()};
  use_kernels(suites, {"mine/*"});
  const auto plan = make_plan(suites, kernels, {});
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_TRUE(plan->diffs.empty());
  EXPECT_EQ(plan->cases.size(), 6U);  // the problems of group a, which include b's
  for (const auto& c : plan->cases) EXPECT_EQ(c.c.kernel, "mine/fast");
}

TEST(Plan, SeedAppliesToCasesWithoutOne) {
  const std::string text = R"(
schema = 1
name = "s"
[[group]]
name = "a"
reason = "r"
kernels = ["cpu/flash"]
set = { seq = 8 }
product = { seed = [1, 2, 42] }
[[diff]]
name = "d"
reason = "r"
set = { seq = 8 }
a = { kernel = "cpu/flash" }
b = { kernel = "mine/fast" }
)";
  std::vector<Suite> suites{suite_from(text)};
  const auto ids = [&] {
    std::vector<std::string> all;
    const auto plan = make_plan(suites, kernels, {});
    for (const auto& c : plan->cases) all.push_back(c.case_id);
    for (const auto& d : plan->diffs) all.insert(all.end(), {d.a.case_id, d.b.case_id});
    return all;
  };
  const auto usual = ids();
  use_seed(suites, 1);
  EXPECT_EQ(ids(), usual);
  use_seed(suites, 42);
  const std::string problem = "/bf16/b1-h1-s8-d64", flash = "cpu/flash" + problem;
  EXPECT_THAT(ids(), testing::ElementsAre(flash + "/seed=42", flash + "/seed=2", flash + "/seed=42",
                                          "mine/fast" + problem + "/seed=42"))
      << "a case that comes to be another of its suite is run once";
}

std::string expecting(const std::string& kernels_of_entry, const std::string& more = "") {
  return R"(schema = 1
name = "s"
[[group]]
name = "a"
reason = "r"
kernels = ["cpu/*"]
set = { seq = 8 }
[[diff]]
name = "d"
reason = "r"
set = { seq = 8 }
a = { kernel = "cpu/flash" }
b = { kernel = "mine/fast" }
[[expect_failure]]
reason = "r"
issue = "https://example.com/7"
expires = 2027-01-31
kernels = [")" +
         kernels_of_entry + "\"]\n" + more;
}

TEST(Plan, ExpectedFailuresMatchEntryKernels) {
  const auto plan = make_plan({suite_from(expecting("cpu/flash_*"))}, kernels, {});
  ASSERT_TRUE(plan) << to_string(plan.error());
  ASSERT_EQ(plan->cases.size(), 2U);
  EXPECT_EQ(plan->cases[0].expected, std::nullopt);
  ASSERT_TRUE(plan->cases[1].expected);
  EXPECT_EQ(plan->cases[1].c.kernel, "cpu/flash_p32");
  EXPECT_EQ(plan->cases[1].expected->line, 14);
}

// A case that is also a diff's side is judged once, whichever is measured first.
TEST(Plan, DiffSideSharesExpectedFailure) {
  const auto of_case =
      make_plan({suite_from(expecting("cpu/flash", "groups = [\"a\"]\n"))}, kernels, {});
  ASSERT_TRUE(of_case) << to_string(of_case.error());
  EXPECT_TRUE(of_case->cases.at(0).expected);
  EXPECT_TRUE(of_case->diffs.at(0).a.expected);
  EXPECT_FALSE(of_case->diffs.at(0).b.expected);
  const auto of_diff = make_plan({suite_from(expecting("*/*", "groups = [\"d\"]\n"))}, kernels, {});
  ASSERT_TRUE(of_diff) << to_string(of_diff.error());
  EXPECT_TRUE(of_diff->cases.at(0).expected);
  EXPECT_FALSE(of_diff->cases.at(1).expected);
  EXPECT_TRUE(of_diff->diffs.at(0).a.expected);
  EXPECT_TRUE(of_diff->diffs.at(0).b.expected);
}

TEST(Plan, UnmatchedExpectedFailureIsAnError) {
  const auto unknown = make_plan({suite_from(expecting("cpu/flsh"))}, kernels, {});
  ASSERT_FALSE(unknown);
  ASSERT_EQ(unknown.error().size(), 1U);
  EXPECT_EQ(unknown.error()[0].line, 14);
  EXPECT_THAT(unknown.error()[0].message,
              testing::HasSubstr("no case has a kernel that the expected failure names: cpu/flsh"));
  std::vector<Suite> suites{suite_from(expecting("cpu/flsh"))};
  use_kernels(suites, {"mine/*"});
  EXPECT_TRUE(make_plan(suites, kernels, {}));
  std::string elsewhere = expecting("gpu/flash");
  elsewhere.replace(elsewhere.find("cpu/*"), 5, "*/*");
  EXPECT_TRUE(make_plan({suite_from(elsewhere)}, kernels, {}));
}

TEST(Plan, FilterMayLeaveEmptyPlan) {
  CaseFilter filter;
  filter.match = {"no such case"};
  const auto plan = make_plan({two_groups()}, kernels, filter);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->size(), 0U);
  EXPECT_TRUE(plan->partial);
}

}  // namespace
}  // namespace plumbline
