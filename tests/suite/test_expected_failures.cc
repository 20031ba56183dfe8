// [[expect_failure]]: the cases that an entry covers, and errors in an entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/suite/suite_expected_failures.h"
#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

// Two groups, one with globs and one with a kernel. The entry follows.
const std::string groups = R"(schema = 1
name = "s"
[[group]]
name = "a"
reason = "r"
kernels = ["cpu/*"]
product = { dtype = ["fp16", "bf16"], seq = [8, 16] }
[[group]]
name = "b"
reason = "r"
kernels = ["mine/fast"]
devices = ["cpu", "emulated:sm_90"]
set = { seq = 8 }
[[diff]]
name = "d"
reason = "r"
a = { kernel = "cpu/flash" }
b = { kernel = "mine/fast" }
)";
constexpr int entry_line = 19;
const std::string head =
    "[[expect_failure]]\nreason = \"rounds twice\"\nissue = \"https://example.com/7\"\nexpires = "
    "2027-01-31\n";

class ExpectedFailures : public SuiteFiles {
 protected:
  // Returns the ids of the cases that have an entry, with "diff " before sides of diffs.
  std::vector<std::string> covered(const std::string& entry) {
    const auto suite = read(groups + head + entry);
    std::vector<std::string> found;
    if (!suite) return {to_string(suite.error())};
    const auto add = [&](const std::string& prefix, const SuiteCase& c) {
      if (!c.failures.empty())
        found.push_back(prefix + case_id({c.kernel_pattern, c.device, c.problem}));
    };
    for (const SuiteCase& c : suite->cases) add("", c);
    for (const SuiteDiff& d : suite->diffs) add("diff ", d.a), add("diff ", d.b);
    return found;
  }
};

TEST_F(ExpectedFailures, CopiedFromEntry) {
  const auto suite = read(groups + head + "kernels = [\"mine/*\"]\n");
  ASSERT_TRUE(suite) << to_string(suite.error());
  const SuiteCase& c = suite->cases.back();
  ASSERT_EQ(c.failures.size(), 1U);
  EXPECT_EQ(c.failures[0]->what,
            (ExpectedFailure{"https://example.com/7", "2027-01-31", "rounds twice",
                             (directory_ / "suite.toml").string(), entry_line}));
}

TEST_F(ExpectedFailures, MatchKernelGroupProblemAndDevice) {
  EXPECT_THAT(covered("kernels = [\"mine/fast\"]\n"),
              ElementsAre("mine/fast/bf16/b1-h1-s8-d64",
                          "mine/fast/bf16/b1-h1-s8-d64/device=emulated:sm_90",
                          "diff mine/fast/bf16/b1-h1-s1-d64"));
  EXPECT_THAT(covered("kernels = [\"mine/fast\"]\ngroups = [\"b\"]\ndevices = [\"cpu\"]\n"),
              ElementsAre("mine/fast/bf16/b1-h1-s8-d64"));
  EXPECT_THAT(covered("kernels = [\"mine/fast\"]\narch = [\"sm_90\"]\n"),
              ElementsAre("mine/fast/bf16/b1-h1-s8-d64/device=emulated:sm_90"));
  // The entry names a kernel that the group's glob may match: kernels are not known yet.
  EXPECT_THAT(covered("kernels = [\"cpu/flash\"]\nmatch = { dtype = \"fp16\", seq = [16, 64] }\n"),
              ElementsAre("cpu/*/fp16/b1-h1-s16-d64"));
  EXPECT_THAT(covered("kernels = [\"*/flash\"]\ngroups = [\"d\"]\n"),
              ElementsAre("diff cpu/flash/bf16/b1-h1-s1-d64"));
}

TEST_F(ExpectedFailures, DatesMayBeTexts) {
  std::string text = head;
  text.replace(text.find("2027-01-31"), 10, "\"2028-02-29\"");
  const auto suite = read(groups + text + "kernels = [\"mine/*\"]\n");
  ASSERT_TRUE(suite) << to_string(suite.error());
  EXPECT_EQ(suite->cases.back().failures.at(0)->what.expires, "2028-02-29");
}

TEST_F(ExpectedFailures, CoverIncludesButNotSiblings) {
  const std::string file =
      "schema = 1\nname = \"NAME\"\n[[group]]\nname = \"g\"\nreason = \"r\"\nkernels = "
      "[\"cpu/flash\"]\nset = { seq = SEQ }\n";
  const auto with = [&](std::string name, std::string seq) {
    std::string text = file;
    text.replace(text.find("NAME"), 4, name);
    return text.replace(text.find("SEQ"), 3, seq);
  };
  const std::string entry = head + "kernels = [\"cpu/flash\"]\n";
  write("common.toml", with("common", "8"));
  write("first.toml", "include = [\"common.toml\"]\n" + with("first", "16"));
  write("second.toml", "include = [\"common.toml\"]\n" + with("second", "32") + entry);
  const auto suite =
      read("schema = 1\nname = \"s\"\ninclude = [\"first.toml\", \"second.toml\"]\n");
  ASSERT_TRUE(suite) << to_string(suite.error());
  std::vector<std::pair<std::string, std::size_t>> entries;
  for (const SuiteCase& c : suite->cases) entries.emplace_back(c.suite, c.failures.size());
  EXPECT_THAT(entries, ElementsAre(Pair("common", 1), Pair("first", 0), Pair("second", 1)));
  // A repeated case is in the first group that has it, and also belongs to the second one.
  std::string again =
      "include = [\"first.toml\"]\n" + with("again", "16") + entry + "groups = [\"h\"]\n";
  again.replace(again.find("\"g\""), 3, "\"h\"");
  const auto twice = read(again);
  ASSERT_TRUE(twice) << to_string(twice.error());
  ASSERT_EQ(twice->cases.size(), 2U);
  EXPECT_EQ(twice->cases[1].group, "g");
  EXPECT_EQ(twice->cases[1].failures.size(), 1U);
}

TEST_F(ExpectedFailures, UnmatchedEntryIsAnError) {
  const auto place =
      "suite.toml:" + std::to_string(entry_line) + ": the expected failure occurs in no case";
  for (const char* entry :
       {"kernels = [\"cpu2/flash\"]\n", "kernels = [\"cpu/*\"]\ngroups = [\"c\"]\n",
        "kernels = [\"cpu/*\"]\nmatch = { seq = 9 }\n",
        "kernels = [\"cpu/*\"]\ndevices = [\"cuda:0\"]\n"}) {
    EXPECT_THAT(errors(groups + head + entry), ElementsAre(StartsWith(place))) << entry;
  }
}

TEST_F(ExpectedFailures, AllErrorsAtOnce) {
  EXPECT_THAT(errors(groups + R"([[expect_failure]]
reason = " "
issue = "the tracker"
expires = "2027-02-29"
kernels = []
match = { dtpye = "fp16", seq = "many" }
devices = ["gpu"]
gruops = ["a"]
[[expect_failure]]
)"),
              testing::UnorderedElementsAre(
                  StartsWith("suite.toml:20: reason is not a text"),
                  StartsWith("suite.toml:21: issue \"the tracker\" is not an http or https address "
                             "| write the link"),
                  StartsWith("suite.toml:22: expires \"2027-02-29\" is not a date | write the day"),
                  StartsWith("suite.toml:23: kernels is not a list of texts"),
                  "suite.toml:24: unknown key \"dtpye\" | did you mean dtype?",
                  StartsWith("suite.toml:24: seq: \"many\" is not an integer"),
                  HasSubstr("suite.toml:25: \"gpu\" is not a device"),
                  "suite.toml:26: unknown key \"gruops\" | did you mean groups?",
                  StartsWith("suite.toml:27: issue is missing"),
                  StartsWith("suite.toml:27: expires is missing"),
                  StartsWith("suite.toml:27: reason is missing"),
                  StartsWith("suite.toml:27: kernels is missing")));
  // the error of toml++
  EXPECT_THAT(errors(groups + "[[expect_failure]]\nexpires = 2027-02-29\n"),
              ElementsAre(StartsWith("suite.toml:20: ")));
  EXPECT_THAT(errors(groups + "[[group]]\nname = 2027-01-31\nreason = \"r\"\nkernels = "
                              "[\"a/b\"]\nset = { seq = 2027-01-31 }\n"),
              ElementsAre(HasSubstr("suite.toml:20: name is not a text"),
                          HasSubstr("suite.toml:23: seq takes a string, number or boolean")));
}

TEST(Dates, MustExistInCalendar) {
  EXPECT_TRUE(parse_date("2028-02-29"));
  for (const char* text : {"", "2027-02-29", "2027-1-31", "27-01-31", "2027-01-31 ", "2027-13-01",
                           "+027-01-31", "2027-01-31-", "tomorrow"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
  const ExpectedFailure expected{"", "2027-03-01", "", "", 0};
  EXPECT_EQ(days_left(expected, "2027-02-27"), 2);
  EXPECT_EQ(days_left(expected, "2027-03-01"), 0);
  EXPECT_EQ(days_left(expected, "2028-03-01"), -366);
}

TEST(Globs, Overlap) {
  for (const auto& [a, b] : {std::pair{"cpu/*", "*/flash"},
                             {"cpu/*", "cpu/flash"},
                             {"*", "?"},
                             {"a*c", "*b*"},
                             {"**", ""},
                             {"a?c", "ab?"}}) {
    EXPECT_TRUE(globs_overlap(a, b)) << a << " " << b;
    EXPECT_TRUE(globs_overlap(b, a)) << a << " " << b;
  }
  for (const auto& [a, b] : {std::pair{"cpu/*", "gpu/*"},
                             {"cpu/?", "cpu/"},
                             {"*a", "*b"},
                             {"a", "a?*"},
                             {"?", ""},
                             {"a*c", "b*c"}}) {
    EXPECT_FALSE(globs_overlap(a, b)) << a << " " << b;
    EXPECT_FALSE(globs_overlap(b, a)) << a << " " << b;
  }
}

}  // namespace
}  // namespace plumbline
