// Approved text is readable, has one line for each architecture, and is read back unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/resources/approved.h"
#include "tests/resources/rows.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CompiledSource source() {
  Resources launched = compiled_row("decode<float>", "sm_100a");
  launched.launch = "head_dim 64";
  Resources function = compiled_row("helper (device function)", "sm_90");
  function.usage.registers = -1;
  function.usage.spill_store_bytes = 4;
  function.facts.reset();
  function.occupancy.reset();
  return {"prefill",
          "kernels/prefill.cu",
          "nvcc 13.0.88",
          {launched, function, compiled_row(), compiled_row("prefill<64>", "sm_100a")}};
}

constexpr const char* golden =
    R"toml(# Approved resources of kernels/prefill.cu: what later builds are compared with.
# Bytes; registers and spills per thread, shared memory (static and dynamic) per block; warps
# resident on a multiprocessor. Written by `plumbline resources --accept`.
schema = 1
source = "kernels/prefill.cu"
toolkit = "nvcc 13.0.88"
accepted.who = "Ada"
accepted.when = "2026-01-31"
accepted.why = "two \"stages\""

[[kernel]]
name = "decode<float>"
launch = "head_dim 64"
sm_100a = { registers = 128, stack = 0, spill_stores = 0, spill_loads = 0, shared = 40960, warps = 16 }

[[kernel]]
name = "helper (device function)"
sm_90   = { stack = 0, spill_stores = 4, spill_loads = 0, shared = 0 }

[[kernel]]
name = "prefill<64>"
sm_90   = { registers = 128, stack = 0, spill_stores = 0, spill_loads = 0, shared = 40960, warps = 16 }
sm_100a = { registers = 128, stack = 0, spill_stores = 0, spill_loads = 0, shared = 40960, warps = 16 }
)toml";

TEST(ApprovedText, Golden) {
  EXPECT_EQ(approved_text(source(), {"Ada", "2026-01-31", "two \"stages\""}), golden);
}

TEST(ApprovedText, IsReadBack) {
  const CompiledSource written = source();
  const auto read = parse_approved(approved_text(written, {"Ada\\", "2026-01-31", "line\nbreak"}),
                                   "prefill.toml");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->source, written.source);
  EXPECT_EQ(read->accepted.who, "Ada\\");
  EXPECT_EQ(read->accepted.why, "line\nbreak");
  ASSERT_EQ(read->kernels.size(), written.kernels.size());
  for (std::size_t i = 0; i < written.kernels.size(); ++i)
    EXPECT_EQ(read->kernels[i], approved_form(written.kernels[i])) << i;
}

TEST(ApprovedText, ErrorsNameLine) {
  const auto complaint = [](const std::string& text) {
    const auto read = parse_approved(text, "x.toml");
    return read ? "no error" : to_string(read.error());
  };
  const std::string head =
      "schema = 1\nsource = \"a.cu\"\ntoolkit = \"nvcc 13\"\naccepted = { who = \"A\", when = "
      "\"B\", why = \"C\" }\n";
  EXPECT_EQ(complaint(head), "no error");
  EXPECT_THAT(complaint("schema = 2\n"),
              AllOf(HasSubstr("x.toml:1: the schema is not 1"), HasSubstr("source is missing"),
                    HasSubstr("toolkit is missing"), HasSubstr("accepted is missing")));
  EXPECT_THAT(complaint(head + "[[kernel]]\nname = \"k\"\nsm_90 = { registers = -3, stack = 0, "
                               "spill_stores = 0, spill_loads = 0 }\n"),
              AllOf(HasSubstr("x.toml:7: registers is not a whole number"),
                    HasSubstr("shared is missing")));
  EXPECT_THAT(complaint(head + "[[kernel]]\nname = \"k\"\nregs = 3\n"),
              HasSubstr("x.toml:7: regs is neither"));
  const std::string kernel =
      "[[kernel]]\nname = \"k\"\nsm_90 = { stack = 0, spill_stores = 0, spill_loads = 0, shared = "
      "0 }\n";
  EXPECT_THAT(complaint(head + kernel + kernel), HasSubstr("listed twice"));
}

}  // namespace
}  // namespace plumbline
