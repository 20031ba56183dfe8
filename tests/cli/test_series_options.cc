// A provider's options are part of a series: a kernel that runs with other options is not compared
// with its past.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SeriesOptions : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "long enough for tiles of 24 keys to change bits"
kernels = ["cpu/flash"]
set = { dtype = "bf16", seq = 65 }
)");
  }
  test::CommandResult run(const std::string& options) const {
    return plumbline("run s.toml -q --no-default-provider --provider '" + cpu_provider(options) +
                     "'");
  }
  // Returns the rows of a query without the header.
  std::string rows(const std::string& sql) const {
    std::string text = plumbline("query \"" + sql + "\" --format csv").text;
    std::erase(text, '\r');
    return text.substr(text.find('\n') + 1);
  }
};

TEST_F(SeriesOptions, OtherOptionsHaveSeparatePast) {
  for (const char* options : {"", "tile_kv=24", "", "tile_kv=24"})
    ASSERT_EQ(run(options).code, 0) << options;
  EXPECT_EQ(
      rows("SELECT '<' || provider_options || '>', verdict FROM v_history ORDER BY run_order"),
      "<>,first_seen\n<tile_kv=24>,first_seen\n<>,pass\n<tile_kv=24>,pass\n");
  EXPECT_EQ(rows("SELECT count(DISTINCT output_digest) FROM v_history"), "2\n")
      << "other options that change no bit test nothing";
  EXPECT_EQ(rows("SELECT '<' || provider_options || '>' FROM v_latest ORDER BY 1"),
            "<>\n<tile_kv=24>\n");

  const auto history = plumbline("history 'cpu/flash/*'");
  EXPECT_THAT(history.text, HasSubstr("  with the provider options tile_kv=24\n"));
  EXPECT_LT(history.text.find("cpu/flash/"), history.text.find("with the provider options"));
  EXPECT_THAT(plumbline("show latest '*'").text, HasSubstr("tile_kv=24"));
  EXPECT_THAT(plumbline("show latest~1 '*'").text, Not(HasSubstr("tile_kv=24")));

  // Two runs that the user names are compared, and the report states the options.
  const auto compared = plumbline("compare latest~1 latest");
  EXPECT_THAT(compared.text,
              AllOf(HasSubstr("cases with other provider options: 1; the first has \"\" in "),
                    HasSubstr("\"tile_kv=24\" in ")));
  EXPECT_THAT(plumbline("compare latest~2 latest").text, Not(HasSubstr("other provider options")));
}

// A run with other options fails by itself, and does not affect the series.
TEST_F(SeriesOptions, OtherOptionsCauseNoRegression) {
  ASSERT_EQ(run("").code, 0);
  ASSERT_EQ(run("drop_last_key=1").code, 1);
  EXPECT_EQ(rows("SELECT previous_run_id IS NULL FROM v_regressions"), "1\n");
  ASSERT_EQ(run("").code, 0);
  EXPECT_EQ(plumbline("judge latest~1").code, 1);
  EXPECT_EQ(rows("SELECT verdict FROM v_latest WHERE provider_options = ''"), "pass\n");
}

}  // namespace
}  // namespace plumbline
