// `plumbline run --seed N`: other inputs for the cases whose id has no seed, with ids that repeat
// them.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using nlohmann::json;
using test::cpu_provider;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Seed : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "one case names its seed, the other none"
kernels = ["cpu/flash"]
set = { dtype = "bf16", seq = 20 }
product = { seed = [1, 42] }
[[diff]]
name = "d"
reason = "both sides have the inputs of the run"
set = { dtype = "bf16", seq = 24 }
a = { kernel = "cpu/flash" }
b = { kernel = "cpu/flash_p32" }
)");
  }
  // Returns case ids and the digests of their inputs.
  static std::map<std::string, std::string> inputs_of(const std::string& answer) {
    std::map<std::string, std::string> inputs;
    const json document = json::parse(answer);
    for (const json& outcome : document["data"]["outcomes"])
      inputs[outcome["case"]] = outcome["problem_digest"];
    return inputs;
  }
  std::map<std::string, std::string> inputs_with(const std::string& seed) const {
    return inputs_of(plumbline("run s.toml -q --no-store --format json" + seed).text);
  }
};

TEST_F(Seed, AppliesToCasesWithoutSeed) {
  const auto usual = inputs_with(""), other = inputs_with(" --seed 7");
  const std::string group = "cpu/flash/bf16/b1-h1-s20-d64", side = "/bf16/b1-h1-s24-d64";
  ASSERT_EQ(usual.size(), 4U);
  ASSERT_EQ(other.size(), 4U);
  EXPECT_EQ(other.at(group + "/seed=42"), usual.at(group + "/seed=42"));
  EXPECT_NE(other.at(group + "/seed=7"), usual.at(group));
  for (const char* kernel : {"cpu/flash", "cpu/flash_p32"})
    EXPECT_NE(other.at(kernel + side + "/seed=7"), usual.at(kernel + side)) << kernel;
  EXPECT_EQ(inputs_with(" --seed 1"), usual) << "the seed that is meant where none is named";
  EXPECT_THAT(plumbline("list s.toml --seed 7").text, HasSubstr("s20-d64/seed=7"));
}

TEST_F(Seed, ReproduceCommandHasSeed) {
  const auto failed =
      plumbline("run s.toml -q --no-store --seed 7 --match '*s20*seed=7' --provider '" +
                cpu_provider("drop_last_key=1") + "'");
  EXPECT_EQ(failed.code, 1) << failed.text;
  const std::string word = "reproduce: ";
  const std::size_t at = failed.text.find(word);
  ASSERT_NE(at, std::string::npos) << failed.text;
  const std::string line =
      failed.text.substr(at + word.size(), failed.text.find('\n', at) - at - word.size());
  EXPECT_THAT(line, AllOf(HasSubstr("seed=7"), Not(HasSubstr("--seed"))));
  const auto once = inputs_of(shell(line + " -q --format json").text);
  ASSERT_EQ(once.size(), 1U) << line;
  EXPECT_EQ(once, inputs_of(plumbline("run s.toml -q --no-store --format json --seed 7 --match "
                                      "'*s20*seed=7'")
                                .text));
}

// A night with another seed misses no case of earlier nights.
TEST_F(Seed, OtherSeedLosesNoCase) {
  ASSERT_EQ(plumbline("run s.toml -q --purpose nightly").code, 0);
  const auto other = plumbline("run s.toml -q --purpose nightly --seed 7");
  EXPECT_EQ(other.code, 0) << other.text;
  EXPECT_THAT(other.text, Not(HasSubstr("vanished")));
  EXPECT_THAT(plumbline("query \"SELECT selection FROM v_runs\" --format csv").text,
              HasSubstr("seed=7"));
  EXPECT_THAT(
      plumbline("query \"SELECT seed FROM v_latest WHERE verdict = 'pass'\" --format csv").text,
      HasSubstr("42"));
}

}  // namespace
}  // namespace plumbline
