// Time gating: a planted 2x slowdown is a regression, the same kernel again is not.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::HasSubstr;

using TimeGate = test::CommandTest;

TEST_F(TimeGate, TenRunsOfTheSameAreFineAndHalfTheSpeedIsNot) {
  write("s.toml", R"(
schema = 1
name = "timed"
[[group]]
name = "g"
reason = "one timed shape"
kernels = ["cpu/flash"]
timed = true
set = { dtype = "bf16", heads = 2, seq = 96, mask = "causal_bottom_right" }
)");
  for (int i = 0; i < 10; ++i) {
    const auto run = plumbline("run s.toml -q");
    EXPECT_EQ(run.code, 0) << "run " << i << "\n" << run.text;
  }
  const auto slow = plumbline("run s.toml -q --provider '" + cpu_provider("slow=2") + "'");
  EXPECT_EQ(slow.code, 1) << slow.text;
  EXPECT_THAT(slow.text, HasSubstr("regressed"));
  EXPECT_THAT(plumbline("query \"SELECT verdict FROM v_latest\" --format csv").text, HasSubstr("regressed"));
}

}  // namespace
}  // namespace plumbline
