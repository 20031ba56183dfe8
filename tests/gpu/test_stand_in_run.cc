// Runs the program on the stand-in as on a GPU.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StandInRun : public test::CommandTest {
 protected:
  test::CommandResult run(const std::string& device, const std::string& more = "") const {
    return plumbline("run " + suite("pr.toml") +
                     " --tier pr --match 'pr/tile_edges/*' --db gpu.db --device " + device + " " +
                     more);
  }
  static std::string stand_in(const std::string& options = "") {
    return "--provider '" PLUMBLINE_STAND_IN + (options.empty() ? "" : ":" + options) + "'";
  }
};

TEST_F(StandInRun, GivesEmulatorBits) {
  const auto gpu = run("cuda:0", stand_in());
  ASSERT_EQ(gpu.code, 0) << gpu.text;
  const auto emulated = run("emulated:sm_90");
  ASSERT_EQ(emulated.code, 0) << emulated.text;
  const auto matrix = plumbline(
      "matrix latest latest~1 --db gpu.db --expect-equal emulated:sm_90=cuda:0 --format markdown");
  EXPECT_EQ(matrix.code, 0) << matrix.text;
  EXPECT_THAT(matrix.text, AllOf(HasSubstr("| on | 18 | 18 |"), HasSubstr("| off | 18 | 18 |")));
}

TEST_F(StandInRun, DefaultStreamKernelFailsWithReason) {
  const auto failed =
      plumbline("run -v --case 'cuda/decode_simt/bf16/b1-h2-s65-d64/device=cuda:0' " +
                    stand_in("stand_in=default_stream"),
                "COLUMNS=400 ");
  EXPECT_EQ(failed.code, 1) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("a kernel runs on another stream"));
}

}  // namespace
}  // namespace plumbline
