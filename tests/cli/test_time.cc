// Time gating: a planted 2x slowdown is a regression, the same kernel again is not.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

class TimeGate : public test::CommandTest {
 protected:
  // Ten A/A runs and one at half the speed, in a database of their own; what went wrong, or "".
  std::string attempt(const std::string& database) const {
    for (int i = 0; i < 10; ++i) {
      const auto run = plumbline("run s.toml -q --db " + database);
      if (run.code != 0)
        return "A/A run " + std::to_string(i) + " exits " + std::to_string(run.code) + "\n" +
               run.text;
    }
    const auto slow = plumbline(
        "run s.toml -q --db " + database + " --provider '" + test::planted_cpu_provider() + "'",
        test::planted("slow=2"));
    if (slow.code != 1)
      return "half the speed exits " + std::to_string(slow.code) + "\n" + slow.text;
    const auto verdict =
        plumbline("query \"SELECT verdict FROM v_latest\" --format csv --db " + database);
    return verdict.text.find("regressed") != std::string::npos ? "" : verdict.text;
  }
};

// A machine on which something else runs may spoil a history; the promise is for one that is left
// alone, so a spoilt attempt is repeated.
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
  std::string trouble;
  for (const char* database : {"a.db", "b.db", "c.db"}) {
    const auto result = attempt(database);
    if (result.empty()) return;
    trouble += result + "\n";
  }
  FAIL() << trouble;
}

}  // namespace
}  // namespace plumbline
