// Suites on several architectures, from the suite file to `plumbline matrix`.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const char* const four_archs = R"(
schema = 1
name = "archs"
[[group]]
name = "g"
reason = "kernels with and without tensor cores"
kernels = ["emulated/*mm*", "emulated/sim*"]
arch = ["sm_80", "sm_89", "sm_90", "sm_100"]
set = { heads = 2, seq_q = 9, seq_kv = 70 }
product = { dtype = ["fp16", "bf16"] }
)";

const std::string reviewed = " --baselines reviewed";

class Archs : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("s.toml", four_archs);
    write("reviewed/contracts.toml", "schema = 1\n");
    write("reviewed/support.toml", "schema = 1\n");
  }
  static std::string provider(const std::string& options = "") {
    return " --provider '" + (build_directory_of_tests() / "plumbline_arch_provider.so").string() +
           options + "'";
  }
  static std::filesystem::path build_directory_of_tests() {
    return test::build_directory / "lib" / "plumbline";
  }
  std::size_t runs_of(const std::string& words) const {
    const std::string text = read("runs.txt");
    std::size_t count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
      ++count;
    return count;
  }
};

TEST_F(Archs, KernelWithoutTensorCoresIsReused) {
  const auto run = shell("PLUMBLINE_TEST_RUNS=runs.txt '" + program().string() +
                         "' run s.toml -q -j 1 --db a.db --format json" + reviewed + provider());
  ASSERT_EQ(run.code, 0) << run.text;
  // Two problems, three calls each.
  for (const char* words : {"mma emulated:sm_80\n", "mma emulated:sm_90\n", "mma emulated:sm_100\n",
                            "simt emulated:sm_80\n", "simt emulated:sm_89\n"}) {
    EXPECT_EQ(runs_of(words), 6U) << words;
  }
  EXPECT_EQ(runs_of("simt emulated:sm_90\n") + runs_of("simt emulated:sm_100\n"), 0U);

  const auto json = nlohmann::json::parse(run.text)["data"];
  std::size_t reused = 0;
  for (const auto& outcome : json["outcomes"]) {
    const std::string device = outcome["device"];
    const bool expected = outcome["kernel"] == "emulated/simt" &&
                          (device == "emulated:sm_90" || device == "emulated:sm_100");
    EXPECT_EQ(outcome.contains("reused_from"), expected) << outcome["case"];
    if (!expected) continue;
    ++reused;
    EXPECT_THAT(outcome["reused_from"].get<std::string>(),
                AllOf(HasSubstr("emulated/simt/"), HasSubstr("device=emulated:sm_80")));
    EXPECT_EQ(outcome["verdict"], "first_seen");
  }
  EXPECT_EQ(reused, 4U);
  EXPECT_THAT(plumbline("show latest '*simt*sm_90' --db a.db").text,
              HasSubstr("from emulated/simt/"));
  EXPECT_THAT(plumbline("query \"SELECT arch, count(*) FROM v_history WHERE reused_from <> '' "
                        "GROUP BY arch\" --db a.db --format csv")
                  .text,
              AllOf(HasSubstr("sm_90,2"), HasSubstr("sm_100,2")));
  const auto again = plumbline("run s.toml -q --db a.db" + reviewed + provider());
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_THAT(again.text, HasSubstr("16 pass"));
}

TEST_F(Archs, DifferentBitsWithoutTensorCoresFail) {
  write("d.toml", R"(schema = 1
name = "d"
[[group]]
name = "g"
reason = "r"
kernels = ["emulated/drifting"]
arch = ["sm_80", "sm_90", "sm_100"]
set = { dtype = "fp16", heads = 2, seq_q = 9, seq_kv = 70 }
)");
  const auto run = plumbline("run d.toml -q --no-store" + reviewed + provider());
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text,
              AllOf(HasSubstr("2 error"),
                    HasSubstr("gives other bits on emulated:sm_90 than on emulated:sm_80"),
                    HasSubstr("output digest")));
}

TEST_F(Archs, MatrixShowsTensorCoreDifferences) {
  ASSERT_EQ(plumbline("run s.toml -q --db a.db --markdown m.md" + reviewed + provider()).code, 0);
  const auto matrix = plumbline("matrix --db a.db --format json");
  ASSERT_EQ(matrix.code, 0) << matrix.text;
  const auto json = nlohmann::json::parse(matrix.text)["data"];
  EXPECT_EQ(json["devices"].size(), 4U);
  EXPECT_EQ(json["reused"], 4);
  for (const auto& bits : json["bits"]) {
    const bool differ = bits["tensor_cores"] == "on" && bits["a"] == "emulated:sm_89";
    EXPECT_EQ(bits["equal"] == bits["common"], !differ) << bits.dump();
  }
  EXPECT_THAT(plumbline("matrix latest --db a.db").text,
              AllOf(HasSubstr("emulated:sm_100"), HasSubstr("reproduce: ")));
  EXPECT_THAT(plumbline("show latest --db a.db --format markdown").text,
              HasSubstr("## plumbline: Fine: no failure in "));
  EXPECT_THAT(plumbline("matrix latest --db a.db --format markdown").text,
              HasSubstr("Worst percent of a limit:"));
  EXPECT_EQ(plumbline("matrix --db a.db --expect-equal emulated:sm_80=emulated:sm_89").code, 0);
  const auto unequal = plumbline("matrix --db a.db --expect-equal emulated:sm_89=emulated:sm_90");
  EXPECT_EQ(unequal.code, 1);
  EXPECT_THAT(
      unequal.text,
      HasSubstr(
          "emulated:sm_89 and emulated:sm_90: 2 of 4 cases differ, first emulated/mma/bf16/"));
  EXPECT_EQ(plumbline("matrix --db a.db --expect-equal emulated:sm_89=cuda:0").code, 4);
  EXPECT_EQ(plumbline("matrix --db a.db --expect-equal emulated:sm_89").code, 2);

  // The command after "reproduce" prints two digests, which differ.
  const std::string mark = "reproduce: ";
  const auto at = unequal.text.find(mark);
  ASSERT_NE(at, std::string::npos) << unequal.text;
  const auto line =
      unequal.text.substr(at + mark.size(), unequal.text.find('\n', at) - at - mark.size());
  const auto both = nlohmann::json::parse(shell(line + " -q").text)["data"]["outcomes"];
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0]["output_digest"], both[1]["output_digest"]);
}

TEST_F(Archs, GpuAndEmulatorRunSameCases) {
  const auto run = plumbline(
      "run s.toml -q --db a.db --device emulated:sm_80 --device emulated:sm_90 --device cuda:0" +
      reviewed + provider() + provider(":cuda"));
  ASSERT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(
      plumbline("query \"SELECT DISTINCT device, arch FROM v_history\" --db a.db --format csv")
          .text,
      HasSubstr("cuda:0,sm_90"));
  EXPECT_EQ(plumbline("matrix --db a.db --expect-equal emulated:sm_90=cuda:0").code, 0);
  EXPECT_EQ(plumbline("matrix --db a.db --expect-equal emulated:sm_80=cuda:0").code, 1);
}

TEST_F(Archs, CpuRunHasNoMatrix) {
  ASSERT_EQ(
      plumbline("run " + suite("smoke.toml") + " -q --db c.db --match '*cpu/flash/fp16*d64'").code,
      0);
  const auto matrix = plumbline("matrix --db c.db");
  EXPECT_EQ(matrix.code, 4);
  EXPECT_THAT(matrix.text, HasSubstr("--device emulated:sm_90"));
}

}  // namespace
}  // namespace plumbline
