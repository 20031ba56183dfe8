// `plumbline run` finds planted changes within two nights: partial results in 16 bits, and error
// increases that are each accepted. It does not flag legal changes.
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class PlantedNights : public test::CommandTest {
 protected:
  test::CommandResult night(const std::string& options,
                            const std::string& suite = partials()) const {
    return plumbline("run " + suite + " -q --purpose nightly --db history.db --provider '" +
                         test::planted_cpu_provider() + "'",
                     test::planted(options));
  }
  static std::string partials() {
    return "'" + (test::source_directory / "tests" / "planted" / "partials.toml").string() + "'";
  }
  // Returns the rows of a query's result, without the column names.
  std::string ask(const std::string& sql) const {
    std::string text = plumbline("query \"" + sql + "\" --db history.db --format csv").text;
    std::erase(text, '\r');
    return text.substr(std::min(text.size(), text.find('\n') + 1));
  }
};

TEST_F(PlantedNights, UndeclaredHalfPartialsAreFlagged) {
  ASSERT_EQ(night("").code, 0);
  const auto second = night("partials=16,undeclared=1");
  EXPECT_EQ(second.code, 1) << second.text;
  EXPECT_THAT(second.text, HasSubstr("drift of the lower quartile"));
  EXPECT_THAT(ask("SELECT status FROM v_suite_scores WHERE statistic = "
                  "'drift of the lower quartile' ORDER BY run_order"),
              HasSubstr("fail"));
}

// Storing a kernel's partial results in 16 bits is not a bug if the kernel declares it. It is then
// another spec, which the contract does not allow here.
TEST_F(PlantedNights, DeclaredHalfPartialsExceedContract) {
  const auto night_of_it = night("partials=16");
  EXPECT_EQ(night_of_it.code, 1);
  EXPECT_THAT(night_of_it.text, HasSubstr("spec is looser than its contract"));
}

TEST_F(PlantedNights, LegalRetilingIsNotFlagged) {
  ASSERT_EQ(night("").code, 0);
  const auto second = night("tile_kv=16,reverse=1,lazy=1");
  EXPECT_EQ(second.code, 0) << second.text;
  EXPECT_THAT(ask("SELECT count(*) FROM v_latest WHERE verdict = 'changed'"), HasSubstr("46"));
}

// Each step rounds P twice in another fifth of the elements, which raises the rms by about 4 %.
// That is within the noise of the night before, which is accepted, but not of the first night,
// which is pinned.
TEST_F(PlantedNights, AcceptedDriftIsFlaggedAgainstPin) {
  const std::string flash = suite("smoke.toml") + " --kernel cpu/flash";
  ASSERT_EQ(night("", flash).code, 0);
  ASSERT_EQ(plumbline("baseline pin latest --db history.db --who me --why 'release 1'").code, 0);
  std::vector<int> codes;
  std::string text;
  for (const char* share : {"0.17", "0.35", "0.55", "0.77", "1"}) {
    const auto step = night("double_round_p=1,mix=" + std::string(share), flash);
    codes.push_back(step.code);
    text = step.text;
    ASSERT_EQ(plumbline("baseline accept latest --cases '*' --db history.db --who me --why "
                        "'a little more error'")
                  .code,
              0);
  }
  EXPECT_THAT(codes, testing::ElementsAre(0, 0, testing::_, 1, 1));
  EXPECT_THAT(text, HasSubstr("drift of the median from the pin"));
  EXPECT_EQ(ask("SELECT count(*) FROM v_suite_scores WHERE status = 'fail' AND statistic NOT LIKE "
                "'% from the pin'"),
            "0\n");
}

TEST_F(PlantedNights, PlantsOnlyInSelectedProblems) {
  ASSERT_EQ(night("").code, 0);
  night("bit=1,only=cpu/split_kv,part=1/4");
  EXPECT_EQ(ask("SELECT DISTINCT verdict = 'pass', launched LIKE '%planted%' FROM v_latest "
                "ORDER BY 1"),
            "0,1\n1,0\n");
  EXPECT_EQ(night("only=cpu/naive,bit=1").code, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM v_latest WHERE launched LIKE '%planted%'"), "0\n");
}

// Without options the provider equals cpu: the same build, the same series, the same bits.
TEST_F(PlantedNights, EqualsCpuWithoutOptions) {
  ASSERT_EQ(plumbline("run " + partials() + " -q --purpose nightly --db history.db").code, 0);
  ASSERT_EQ(night("").code, 0);
  EXPECT_THAT(ask("SELECT verdict, count(*) FROM v_latest GROUP BY verdict"), HasSubstr("pass,46"));
}

TEST_F(PlantedNights, WrongOptionIsRefused) {
  const auto wrong = night("flip=2");
  EXPECT_NE(wrong.code, 0);
  EXPECT_THAT(wrong.text, HasSubstr("plumbline_get_provider returned null"));
}

}  // namespace
}  // namespace plumbline
