// All errors of a suite are reported at once, each with its line and a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class SuiteErrorsTest : public SuiteFiles {};

TEST_F(SuiteErrorsTest, AllAtOnceInFileOrder) {
  EXPECT_THAT(
      errors(R"(schema = 1
name = "smoke tests"
tier = "smoky"
defaults = { sede = 1 }
[[group]]
name = "one"
raeson = "typo"
kernels = ["flash"]
set = { heads = [4, 8], dtype = "bf17" }
product = { seq = [64, "many"], mask = [] }
zip = { seq_q = [1, 2], seq_kv = [1, 2, 3], seq = 5 }
[[group]]
name = "one"
reason = "  "
kernels = []
timed = "yes"
devices = ["gpu"]
pairwise = "all"
exclude = [{}, { kernel = "cpu/x", mask = "nonne" }, 3]
)"),
      ElementsAre(
          "suite.toml:2: \"smoke tests\" is not a name | use letters, digits, _ and -",
          "suite.toml:3: tier: \"smoky\" is not one of smoke, pr, nightly, full | did you mean "
          "smoke?",
          "suite.toml:4: unknown key \"sede\" | did you mean seed?",
          StartsWith("suite.toml:5: reason is missing | add reason"),
          "suite.toml:7: unknown key \"raeson\" | did you mean reason?",
          StartsWith("suite.toml:8: \"flash\" is not a kernel | write provider/name"),
          "suite.toml:9: heads takes one value here | lists go into product, zip or pairwise",
          AllOf(StartsWith("suite.toml:9: dtype: \"bf17\" is not one of"),
                HasSubstr("did you mean bf16?")),
          StartsWith("suite.toml:10: seq: \"many\" is not an integer from 0 to"),
          "suite.toml:10: mask has no values | list at least one, or remove the field",
          StartsWith("suite.toml:11: zipped lists differ in length: seq has 1, seq_q has 2"),
          StartsWith("suite.toml:11: zipped lists differ in length: seq has 1, seq_kv has 3"),
          "suite.toml:11: seq is both in product and in zip | keep it in one of them",
          "suite.toml:13: the name \"one\" is taken | give each group and each diff its own",
          StartsWith("suite.toml:14: reason is not a text"),
          StartsWith("suite.toml:15: kernels is not a list of texts"),
          StartsWith("suite.toml:16: timed is not true or false"),
          "suite.toml:17: \"gpu\" is not a device | use cpu, cuda:N or emulated:ARCH",
          StartsWith("suite.toml:18: pairwise is not a table"),
          StartsWith("suite.toml:19: an empty exclude table drops every case"),
          AllOf(StartsWith("suite.toml:19: mask: \"nonne\" is not one of"),
                HasSubstr("did you mean none?")),
          StartsWith(
              "suite.toml:19: exclude names kernel \"cpu/x\", which matches no entry of kernels"),
          StartsWith("suite.toml:19: exclude has an entry that is not a table")));
}

std::string group(const std::string& lines) {
  return "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"r\"\nkernels = [\"cpu/a\", "
         "\"cpu/b\"]\n" +
         lines;
}

TEST_F(SuiteErrorsTest, InvalidProblemReportedOncePerGroup) {
  EXPECT_THAT(
      errors(group("product = { heads_q = [4, 5], heads_kv = [2], seq = [8, 16] }")),
      ElementsAre(AllOf(StartsWith("suite.toml:3: group \"g\" contains an invalid problem: "
                                   "heads_kv 2 does not divide heads_q 5"),
                        HasSubstr("| change the values or drop the combination with exclude"))));
  EXPECT_THAT(errors(group("set = { mask = \"custom\", window = \"3,0\" }")),
              ElementsAre(HasSubstr("mask custom cannot have a window")));
}

TEST_F(SuiteErrorsTest, PairwiseWithoutValidCombination) {
  EXPECT_THAT(errors(group("set = { padding = \"left\" }\npairwise = { layout = [\"ragged\", "
                           "\"paged_nhd\"], seq = [8, 16] }")),
              ElementsAre(HasSubstr("padding left needs a padded layout")));
}

TEST_F(SuiteErrorsTest, UnusedValues) {
  EXPECT_THAT(errors(group("set = { padding = \"left\" }\npairwise = { layout = [\"ragged\", "
                           "\"padded_bshd\"], seq = [8, 16] }")),
              ElementsAre("suite.toml:8: layout = ragged occurs in no case | every combination "
                          "with it is invalid or excluded: remove the value"));
  EXPECT_THAT(
      errors(group("product = { dtype = [\"fp32\", \"fp16\"] }\nexclude = [{ dtype = \"fp32\" }]")),
      ElementsAre(HasSubstr("dtype = fp32 occurs in no case")));
}

TEST_F(SuiteErrorsTest, EmptyGroup) {
  EXPECT_THAT(errors(group("exclude = [{ dtype = \"bf16\" }]")),
              ElementsAre(HasSubstr("group \"g\" expands to nothing")));
}

TEST_F(SuiteErrorsTest, TooManyCombinations) {
  std::string seeds;
  for (int i = 0; i < 320; ++i) seeds += std::to_string(i + 1) + ", ";
  EXPECT_THAT(errors(group("product = { seed = [" + seeds + "], seq = [" + seeds + "] }")),
              ElementsAre(HasSubstr("product and zip span more than 100000 combinations")));
}

TEST_F(SuiteErrorsTest, TooManyPairwiseCombinations) {
  const auto numbers = [](int count) {
    std::string list;
    for (int i = 1; i <= count; ++i) list += std::to_string(i) + ", ";
    return "[" + list + "]";
  };
  EXPECT_THAT(
      errors(group("pairwise = { seed = " + numbers(200) + ", seq = " + numbers(100) + " }")),
      ElementsAre("suite.toml:3: the lists of pairwise have 300 values, more than 256 | every pair "
                  "of them has to occur: split the group"));
  EXPECT_THAT(
      errors(group("product = { seed = " + numbers(300) + ", seq = " + numbers(200) + " }")),
      ElementsAre(HasSubstr("kernels, devices, product and zip make more than 100000 cases")));
  EXPECT_THAT(errors(group("set = { heads_q = 5, heads_kv = 2 }\npairwise = { seed = " +
                           numbers(40) + ", seq = " + numbers(40) + ", batch = " + numbers(40) +
                           ", page_size = " + numbers(40) + " }")),
              testing::Contains(HasSubstr("too few of the combinations of pairwise are valid")));
}

TEST_F(SuiteErrorsTest, FileLevel) {
  EXPECT_THAT(errors("name = \"s\"\n"),
              ElementsAre(HasSubstr("schema is missing"),
                          HasSubstr("the suite has no group, diff or include")));
  EXPECT_THAT(errors("schema = 2\nname = \"s\"\ngroup = 3\n"),
              ElementsAre(StartsWith("suite.toml:1: schema 2 is not known"),
                          StartsWith("suite.toml:3: group is not a list of tables")));
  EXPECT_THAT(errors("schema = 1\nname = \"s\"\n[[group\n"),
              ElementsAre(StartsWith("suite.toml:3: ")));
}

TEST_F(SuiteErrorsTest, Diffs) {
  EXPECT_THAT(
      errors(R"(schema = 1
name = "s"
[[diff]]
name = "d"
reason = "r"
expect = "exact"
exclude = []
a = { kernel = "cpu/*", seqq = 1 }
[[diff]]
name = "shapes"
reason = "r"
a = { kernel = "cpu/a", heads = 2 }
b = { kernel = "cpu/b", device = "tpu" }
[[diff]]
name = "invalid"
reason = "r"
a = { kernel = "cpu/a", heads = 2 }
b = { kernel = "cpu/b", heads_kv = 3 }
[[diff]]
name = "same"
reason = "r"
a = { kernel = "cpu/a" }
b = { kernel = "cpu/a", out_dtype = "bf16" }
)"),
      ElementsAre(
          StartsWith("suite.toml:3: b is not given as a table"),
          StartsWith("suite.toml:6: expect: \"exact\" is not one of rounding, bitwise, report"),
          StartsWith("suite.toml:7: unknown key \"exclude\""),
          StartsWith("suite.toml:8: unknown key \"seqq\" | did you mean seq"),
          StartsWith("suite.toml:8: \"cpu/*\" is not one kernel"),
          StartsWith("suite.toml:13: \"tpu\" is not a device"),
          StartsWith("suite.toml:14: side b of diff \"invalid\" is an invalid problem: heads_kv 3 "
                     "does not divide heads_q 1"),
          StartsWith("suite.toml:14: the outputs of diff \"invalid\" have no common rows"),
          StartsWith("suite.toml:19: a and b of diff \"same\" are the same case")));
}

TEST_F(SuiteErrorsTest, IncludeCyclesAndMissingFiles) {
  write("b.toml", "schema = 1\nname = \"b\"\ninclude = [\"suite.toml\", \"gone.toml\"]\n");
  EXPECT_THAT(errors("schema = 1\nname = \"s\"\ninclude = [\"b.toml\"]\n"),
              ElementsAre(AllOf(StartsWith("b.toml:3: include cycle: "),
                                HasSubstr("| remove this include")),
                          StartsWith("b.toml:3: cannot include "),
                          StartsWith("gone.toml:0: the file cannot be read")));
}

TEST_F(SuiteErrorsTest, ErrorsOfIncludesAreReported) {
  write("b.toml", "schema = 1\nname = \"b\"\n[[group]]\nname = \"g\"\nkernels = [\"cpu/a\"]\n");
  EXPECT_THAT(errors("schema = 1\nname = \"s\"\ninclude = [\"b.toml\"]\n[[group]]\nname = "
                     "\"g\"\nreason = \"r\"\n"),
              ElementsAre(StartsWith("b.toml:3: reason is missing"),
                          StartsWith("suite.toml:4: kernels is missing")));
}

TEST_F(SuiteErrorsTest, MissingSuite) {
  const auto suite = read_suite(directory_ / "none.toml");
  ASSERT_FALSE(suite.has_value());
  EXPECT_THAT(suite.error()[0].to_string(), HasSubstr("none.toml: the file cannot be read"));
}

}  // namespace
}  // namespace plumbline
