// `plumbline run --reference`: verdicts by a library's reference equal those by the CPU's.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class ReferenceCommand : public test::CommandTest {
 protected:
  static std::string cases() {
    return "-q --case 'cpu/flash/bf16/b1-h4x2-s40x70-d64/mask=causal_bottom_right' --case "
           "'cpu/split_kv/fp16/b2-h2-s9x130-d32'";
  }
};

TEST_F(ReferenceCommand, LibraryServesRun) {
  const auto by_cpu = plumbline("run --reference cpu " + cases()),
             by_library = plumbline("run --reference '" PLUMBLINE_REFERENCE_LIBRARY "' " + cases());
  EXPECT_EQ(by_cpu.code, 0) << by_cpu.text;
  EXPECT_EQ(by_library.code, 0) << by_library.text;
  EXPECT_THAT(by_library.text, HasSubstr("cases: 2 first seen"));
}

// The library does not support softcap. The result is correct, and the report says that the CPU
// computed it.
TEST_F(ReferenceCommand, ReportsProblemsComputedOnCpu) {
  const auto run = plumbline("run --reference '" PLUMBLINE_REFERENCE_LIBRARY "' " + cases() +
                             " --case 'cpu/flash/bf16/b1-h4x2-s40x70-d64/softcap=20'");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text,
              testing::ContainsRegex("references? (was|were) computed on the CPU, "
                                     "not on the GPU: reference on .*: not for this problem"));
}

TEST_F(ReferenceCommand, UnopenableLibraryIsAnError) {
  const auto refused = plumbline("run --reference ./none.so " + cases());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("cannot load the reference library: ./none.so"));
}

}  // namespace
}  // namespace plumbline
