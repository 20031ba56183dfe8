// plumbline night: several runs are one night, with one exit code.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Night : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml",
          "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"short\"\nkernels = "
          "[\"cpu/flash\"]\nset = { heads_q = 2, dtype = \"bf16\" }\nproduct = { seq = [40, 48] "
          "}\n");
  }
  std::string opened(const std::string& more = "") const {
    const auto open = plumbline("night open --db h.db " + more);
    EXPECT_EQ(open.code, 0) << open.text;
    return open.text.substr(0, open.text.find('\n'));
  }
};

TEST_F(Night, TwoRunsFormOneNight) {
  const std::string night = opened();
  EXPECT_THAT(opened(), StartsWith(night + ".2")) << "another night of the same day";
  for (const char* seq : {"s40", "s48"}) {
    EXPECT_EQ(
        plumbline("run s.toml -q --db h.db --night " + night + " --match '*" + seq + "*'").code, 0);
  }
  const auto shown = plumbline("night show " + night + " --db h.db");
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.text, AllOf(HasSubstr("2 cases in 2 runs"), HasSubstr("opened"),
                                HasSubstr("0 alerts in 0 groups"),
                                HasSubstr("false alerts are expected by chance")));
  const auto closed = plumbline("night close " + night + " --db h.db --format json");
  EXPECT_EQ(closed.code, 0) << closed.text;
  EXPECT_THAT(closed.text, AllOf(HasSubstr("\"exit_code\": 0"), HasSubstr("\"closed\"")));
  EXPECT_THAT(plumbline("night list --db h.db").text, AllOf(HasSubstr(night), HasSubstr("closed")));
}

TEST_F(Night, FailureSetsExitCodeAndLead) {
  const std::string night = opened("--id n7");
  EXPECT_EQ(night, "n7");
  EXPECT_EQ(plumbline("run s.toml -q --db h.db", "PLUMBLINE_NIGHT=n7 ").code, 0);
  EXPECT_EQ(plumbline("run s.toml -q --db h.db --night n7 --provider '" +
                      test::cpu_provider("drop_last_key=1") + "'")
                .code,
            1);
  const auto closed = plumbline("night close --db h.db");
  EXPECT_EQ(closed.code, 1) << closed.text;
  EXPECT_THAT(closed.text,
              AllOf(HasSubstr("fail: cpu/flash bf16"), HasSubstr("2 cases"),
                    HasSubstr("lead cpu/flash/bf16"), HasSubstr("2 alerts in 1 group")));
  EXPECT_THAT(plumbline("night show n7 --db h.db --format markdown").text,
              HasSubstr("### fail: cpu/flash bf16"));
}

// Twenty nights at about 100 and ten at about 120: one alert soon after point 20, and none later.
TEST_F(Night, ReplayAcceptsThirdPartySeries) {
  std::string csv = "point,value\n";
  for (int i = 0; i < 30; ++i)
    csv += std::to_string(i) + "," + std::to_string((i < 20 ? 100 : 120) + i % 3) + "\n";
  write("times.csv", csv);
  const auto slower = plumbline("judge --replay times.csv");
  EXPECT_EQ(slower.code, 0) << slower.text;
  EXPECT_THAT(slower.text, AllOf(HasSubstr("worse"), HasSubstr("since point 20"),
                                 HasSubstr("1 alert in 30 points of column \"value\"")));
  EXPECT_THAT(plumbline("judge --replay times.csv --higher-is-better --format json").text,
              AllOf(HasSubstr("\"worse\": false"), HasSubstr("\"begin\": 20")));
  write("broken.csv", "point,value\n0,1\n1,many\n");
  const auto broken = plumbline("judge --replay broken.csv");
  EXPECT_EQ(broken.code, 2) << broken.text;
  EXPECT_THAT(broken.text, AllOf(HasSubstr("broken.csv"), HasSubstr("3")));
  EXPECT_EQ(plumbline("judge --replay missing.csv").code, 2);
}

TEST_F(Night, UnknownOrTakenIdIsRefused) {
  opened("--id n1");
  const auto again = plumbline("night open --id n1 --db h.db");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.text, HasSubstr("already"));
  const auto unknown = plumbline("night show n2 --db h.db");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("night list"));
  EXPECT_EQ(plumbline("night show --db typo.db").code, 3);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "typo.db"));
  EXPECT_EQ(plumbline("night close n1 --db h.db").code, 4) << "nothing was measured";
}

}  // namespace
}  // namespace plumbline
