// `plumbline support suggest` prints the entries of support.toml that a run's refusals lack.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Support : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    std::filesystem::create_directories(directory_ / "mine");
    std::filesystem::copy_file(test::source_directory / "baselines" / "contracts.toml",
                               directory_ / "mine" / "contracts.toml");
    write("mine/support.toml", "schema = 1\n");
    // cpu/flash refuses fp32; cpu/flash_unpad also refuses every layout that is not padded.
    write("s.toml", R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "what two kernels take and what they refuse"
kernels = ["cpu/flash", "cpu/flash_unpad"]
set = { batch = 2, seq = 20 }
product.dtype = ["fp16", "bf16", "fp32"]
product.layout = ["padded_bshd", "ragged", "paged_nhd"]
product.mask = ["none", "causal_bottom_right"]
)");
  }
  std::string verdicts() const {
    return plumbline("query \"SELECT verdict, count(*) FROM v_latest GROUP BY 1\" --format csv")
        .text;
  }
  static const std::string refused;  // number of refusals
};
// Two kernels refuse fp32 in three layouts and two masks. flash_unpad also refuses two layouts in
// two dtypes and two masks.
const std::string Support::refused = "20";

TEST_F(Support, SuggestedEntriesResolveMismatches) {
  const std::string run = "run s.toml -q --baselines mine";
  const auto before = plumbline(run);
  EXPECT_EQ(before.code, 1) << before.text;
  EXPECT_THAT(before.text, AllOf(HasSubstr(refused + " cases were refused, and no entry of"),
                                 HasSubstr(" --db plumbline.db --baselines mine\n")));
  EXPECT_THAT(verdicts(), HasSubstr("support_mismatch," + refused));

  const auto suggested = plumbline("support suggest --baselines mine");
  EXPECT_EQ(suggested.code, 0) << suggested.text;
  EXPECT_THAT(suggested.text, HasSubstr(refused + " refusals that no entry explains"));
  // Both kernels need an entry for fp32, and the second one needs another for its layouts.
  const json answer =
      json::parse(plumbline("support suggest --baselines mine --format json").text)["data"];
  EXPECT_EQ(answer["refusals"], 20);
  ASSERT_EQ(answer["entries"].size(), 3U) << suggested.text;
  const auto expect_entry = [&](int at, const char* kernel, const char* where) {
    const json& entry = answer["entries"][static_cast<std::size_t>(at)];
    EXPECT_EQ(entry["kernel"], json::array({kernel}));
    EXPECT_EQ(entry["where"], json::parse(where));
  };
  expect_entry(0, "cpu/flash", R"({"dtype": {"any": ["fp32"]}})");
  expect_entry(1, "cpu/flash_unpad", R"({"dtype": {"any": ["fp32"]}})");
  expect_entry(2, "cpu/flash_unpad", R"({"layout": {"any": ["paged_nhd", "ragged"]}})");
  EXPECT_EQ(answer["entries"][0]["reason"],
            "FlashAttention only supports fp16 and bf16 (got fp32)");

  EXPECT_EQ(
      shell("'" + program().string() + "' support suggest --baselines mine >> mine/support.toml")
          .code,
      0);
  const auto after = plumbline(run);
  EXPECT_EQ(after.code, 0) << after.text;
  EXPECT_THAT(after.text, Not(HasSubstr("support suggest")));
  EXPECT_THAT(verdicts(), AllOf(HasSubstr("unsupported," + refused), Not(HasSubstr("mismatch"))));
  const auto nothing = plumbline("support suggest --baselines mine");
  EXPECT_EQ(nothing.code, 0);
  EXPECT_THAT(nothing.text, AllOf(HasSubstr("0 refusals"), Not(HasSubstr("[[unsupported]]"))));
}

TEST_F(Support, ContradictedEntryIsNamed) {
  write("mine/support.toml",
        "schema = 1\n[[unsupported]]\nkernel = \"cpu/flash*\"\nreason = \"too wide\"\n");
  EXPECT_EQ(plumbline("run s.toml -q --baselines mine").code, 1);
  const auto suggested = plumbline("support suggest --baselines mine");
  EXPECT_EQ(suggested.code, 1) << suggested.text;
  EXPECT_THAT(suggested.text,
              HasSubstr("mine/support.toml:2 says that cpu/flash* refuses this, and "
                        "it ran in 16 cases"));
}

// A refusal by a kernel with neither contract nor entry is not a mismatch. `--kernel` prints the
// entries it would need.
TEST_F(Support, UncontractedKernelsNeedKernelOption) {
  write("mine/contracts.toml", "schema = 1\n");
  EXPECT_EQ(plumbline("run s.toml -q --baselines mine").code, 0);
  const auto none = plumbline("support suggest --baselines mine");
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.text, AllOf(HasSubstr("# 20 more refusals of kernels that have neither"),
                               Not(HasSubstr("[[unsupported]]"))));
  const auto chosen = plumbline("support suggest --baselines mine --kernel 'cpu/flash'");
  EXPECT_THAT(chosen.text, AllOf(HasSubstr("kernel = \"cpu/flash\""), HasSubstr("6 refusals")));
  EXPECT_EQ(plumbline("support suggest --kernel 'cpu/flush*'").code, 2);
}

TEST_F(Support, BadInputsAreRefused) {
  EXPECT_EQ(plumbline("support").code, 2);
  EXPECT_EQ(plumbline("support suggest --db missing.db").code, 3);
  EXPECT_EQ(plumbline("run s.toml -q").code, 0);
  EXPECT_EQ(plumbline("support suggest feedface").code, 2);
  EXPECT_EQ(plumbline("support suggest --baselines nowhere").code, 2);
}

}  // namespace
}  // namespace plumbline
