// Tests plumbline resources: output, exit codes, acceptance, storage, and a planted regression,
// which is compiled if nvcc is installed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "harness/resources/occupancy.h"
#include "tests/cli/command.h"
#include "tests/resources/recorded.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ResourcesCommand : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("reports/tile.ptxas.txt", recorded::small_tile);
    write("reports/tile.launch.toml", recorded::small_tile_launch);
  }
  test::CommandResult resources(const std::string& arguments) const {
    return plumbline("resources --reports reports --baseline approved " + arguments);
  }
  void accept() const {
    const auto accepted = resources("--accept --reason 'first figures' --who Ada");
    ASSERT_EQ(accepted.code, 0) << accepted.text;
  }
  // Replaces the first `from` in the report.
  void plant(const std::string& from, const std::string& to) const {
    std::string text = recorded::small_tile;
    text.replace(text.find(from), from.size(), to);
    write("reports/tile.ptxas.txt", text);
  }
};

TEST_F(ResourcesCommand, FirstFiguresAreNew) {
  if (!occupancy_is_known()) GTEST_SKIP() << "built without cuda_occupancy.h";
  const auto first = resources("");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.text, R"(tests/resources/tile.cu (nvcc 13.0.88)

tile_attention: 128 threads, tile 16 x 64, 1 stage of K and V
  arch   registers  predicted  stack  spilled  shared  predicted  occupancy  limited by     verdict
  -----  ---------  ---------  -----  -------  ------  ---------  ---------  -------------  ----------
  sm_80         48         24      0        0   36864      36864       25 %  shared memory  first seen
  sm_90         48         24      0        0   36864      36864       38 %  shared memory  first seen

2 rows: 2 first seen
)");
}

TEST_F(ResourcesCommand, AcceptedFiguresPass) {
  accept();
  EXPECT_THAT(
      read("approved/tile.toml"),
      AllOf(HasSubstr("who = \"Ada\""), HasSubstr("why = \"first figures\""), HasSubstr("sm_90 ")));
  const auto again = resources("");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.text, HasSubstr("2 rows: 2 pass"));
  const std::string before = read("approved/tile.toml");
  EXPECT_THAT(resources("--accept --reason 'again' --who Bob").text, HasSubstr("is as approved"));
  EXPECT_EQ(read("approved/tile.toml"), before);
}

TEST_F(ResourcesCommand, ExitsWithOneIfWorse) {
  accept();
  plant("0 bytes spill stores", "12 bytes spill stores");
  const auto worse = resources("");
  EXPECT_EQ(worse.code, 1);
  EXPECT_THAT(
      worse.text,
      AllOf(HasSubstr("regressed: tile_attention on sm_80: 12 bytes spilled (0 approved)"),
            HasSubstr("2 rows: 1 pass, 1 regressed"), HasSubstr("resources --accept --reason")));
  EXPECT_EQ(resources("--arch sm_90").code, 0);
  accept();  // worse figures can be accepted
  EXPECT_EQ(resources("").code, 0);
  write("reports/tile.ptxas.txt", recorded::small_tile);
  const auto better = resources("");
  EXPECT_EQ(better.code, 0);
  EXPECT_THAT(better.text,
              HasSubstr("improved: tile_attention on sm_80: 0 bytes spilled (12 approved)"));
}

TEST_F(ResourcesCommand, MissingArchitectureIsReported) {
  accept();
  const std::string text = recorded::small_tile;
  write("reports/tile.ptxas.txt", text.substr(0, text.rfind("ptxas info    : 0 bytes gmem")));
  const auto missing = resources("");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.text,
              HasSubstr("missing: tile_attention on sm_90: approved, but not compiled"));
}

TEST_F(ResourcesCommand, AnotherToolkitIsNotComparable) {
  accept();
  plant("nvcc 13.0.88", "nvcc 13.1.2");
  EXPECT_EQ(resources("").code, 0);  // no figure differs
  std::string text = read("reports/tile.ptxas.txt");
  text.replace(text.find("0 bytes spill stores"), 1, "12");
  write("reports/tile.ptxas.txt", text);
  const auto differs = resources("");
  EXPECT_EQ(differs.code, 6);
  EXPECT_THAT(differs.text,
              AllOf(HasSubstr("note: tests/resources/tile.cu was compiled by nvcc 13.1.2"),
                    HasSubstr("1 not comparable")));
  EXPECT_EQ(resources("--strict").code, 1);
}

TEST_F(ResourcesCommand, MissingReportsAreAnError) {
  std::filesystem::create_directory(directory_ / "empty");
  const auto nothing =
      shell("PATH=/nonexistent '" + program().string() + "' resources --reports empty");
  EXPECT_EQ(nothing.code, 4);
  EXPECT_EQ(nothing.text,
            "empty: no resource reports: nvcc is absent, so no CUDA kernel was compiled\n"
            "  remedy: build where nvcc is on the PATH (cmake --workflow --preset dev), or name a "
            "folder with --reports\n");
  const auto unknown = resources("--arch sm_75");
  EXPECT_EQ(unknown.code, 2) << unknown.text;
  EXPECT_NE(unknown.text.find("--arch sm_75: no kernel was compiled for it"), std::string::npos)
      << unknown.text;
}

TEST_F(ResourcesCommand, UsageAndDamagedReports) {
  EXPECT_EQ(plumbline("resources --reports nowhere").code, 2);
  EXPECT_EQ(resources("--accept --who Ada").code, 2);
  EXPECT_EQ(resources("--accept --reason r --who ''").code, 2);
  EXPECT_NE(resources("--accept --reason r --who Ada --arch sm_90").code, 0);
  EXPECT_EQ(resources("--run latest").code, 2);
  write("approved/tile.toml", "schema = 1\n");
  EXPECT_EQ(resources("").code, 2);
  write("reports/tile.ptxas.txt", "ptxas info    : nonsense\n");
  EXPECT_EQ(resources("").code, 3);
}

TEST_F(ResourcesCommand, StoresFiguresInDatabase) {
  accept();
  EXPECT_EQ(resources("--db runs.db").code, 0);
  plant("0 bytes spill stores", "12 bytes spill stores");
  EXPECT_EQ(resources("--db runs.db").code, 1);
  const auto history = plumbline(
      "query \"SELECT arch, registers, spill_bytes, predicted_registers, verdict FROM v_resources "
      "ORDER BY run_order, arch\" --format csv "
      "--db "
      "runs.db");
  EXPECT_EQ(history.text,
            "arch,registers,spill_bytes,predicted_registers,verdict\r\nsm_80,48,0,24.0,pass\r\nsm_"
            "90,48,0,24.0,pass\r\n"
            "sm_80,48,12,24.0,regressed\r\nsm_90,48,0,24.0,pass\r\n");
  EXPECT_THAT(plumbline("query compiled-resources-that-grew --format csv --db runs.db").text,
              HasSubstr("tile_attention,,sm_80,"));
  // The run has no outcomes, and "latest" is the last run with outcomes.
  EXPECT_THAT(plumbline("show latest --db runs.db").text,
              HasSubstr("goes back further than the 0 runs"));
  EXPECT_EQ(resources("--db runs.db --run latest").code, 3);
}

TEST_F(ResourcesCommand, AddsFiguresToExistingRun) {
  write("s.toml",
        "schema = 1\nname = \"s\"\ntier = \"smoke\"\n[[group]]\nname = \"g\"\nreason = "
        "\"r\"\nkernels = [\"cpu/flash\"]\nset = { seq = 8 "
        "}\n");
  ASSERT_EQ(plumbline("run s.toml --db runs.db -q").code, 0);
  EXPECT_EQ(resources("--db runs.db --run latest").code, 0);
  EXPECT_EQ(resources("--db runs.db --run latest").code, 0);  // replaces the stored rows
  const auto rows = plumbline(
      "query \"SELECT count(*), count(DISTINCT run_id), (SELECT count(*) FROM v_runs) FROM "
      "v_resources\" --format csv --db runs.db");
  EXPECT_THAT(rows.text, HasSubstr("\r\n2,1,1\r\n"));
}

// A night's summary lists only the night's kernels.
TEST_F(ResourcesCommand, RunOptionSelectsKernels) {
  const auto report_of = [](const std::string& kernel) {
    std::string text = recorded::small_tile;
    const std::string mangled = "_Z14tile_attentionPK6__halfS1_S1_Pfi";
    for (std::size_t at; (at = text.find(mangled)) != std::string::npos;)
      text.replace(at, mangled.size(), kernel);
    return text.replace(text.find("tile.cu"), 7, kernel + ".cu");
  };
  std::filesystem::remove_all(directory_ / "reports");
  for (const char* kernel : {"naive_attention", "decode_simt"})
    write(std::string("reports/") + kernel + ".ptxas.txt", report_of(kernel));
  accept();
  const auto run_of = [&](const std::string& kernel) {
    write("s.toml",
          "schema = 1\nname = \"s\"\ntier = \"smoke\"\n[[group]]\nname = \"g\"\nreason = "
          "\"r\"\nkernels = [\"" +
              kernel + "\"]\ndevices = [\"" +
              (kernel.starts_with("cpu/") ? "cpu" : "emulated:sm_80") +
              "\"]\nset = { seq = 8, dtype = \"bf16\" }\n");
    ASSERT_EQ(plumbline("run s.toml --db runs.db -q").code, 0);
  };
  const std::string of_run = "--db runs.db --run latest --of-run --format markdown";
  run_of("cpu/naive");  // not a CUDA kernel, although one has this name
  const auto nothing = resources(of_run);
  EXPECT_EQ(nothing.code, 0);
  EXPECT_EQ(nothing.text, "");
  run_of("emulated/naive");
  const auto own = resources(of_run);
  EXPECT_EQ(own.code, 0);
  EXPECT_THAT(own.text, AllOf(HasSubstr("`naive_attention`"), HasSubstr("2 rows: 2 pass"),
                              testing::Not(HasSubstr("decode_simt"))));

  std::string worse = report_of("decode_simt");
  worse.replace(worse.find("0 bytes spill stores"), 1, "12");
  write("reports/decode_simt.ptxas.txt", worse);
  const auto told = resources(of_run);
  EXPECT_EQ(told.code, 1);
  EXPECT_THAT(told.text, HasSubstr("regressed: decode_simt on sm_80"));
  const auto stored =
      plumbline("query \"SELECT count(*) FROM v_resources\" --format csv --db runs.db");
  EXPECT_THAT(stored.text, HasSubstr("\r\n8\r\n")) << "all is stored: of two runs, four rows each";
  EXPECT_EQ(resources("--of-run").code, 2);
}

TEST_F(ResourcesCommand, MarkdownAndJson) {
  const auto markdown = resources("--format markdown");
  EXPECT_EQ(markdown.code, 0);
  EXPECT_THAT(markdown.text,
              AllOf(HasSubstr("### Resources of compiled kernels\n\n2 rows: 2 first seen"),
                    HasSubstr("| sm_80 | 48 | 24 | 0 | 0 | 36864 | 36864 |")));
  const auto json = nlohmann::json::parse(resources("--format json").text)["data"];
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][1]["arch"], "sm_90");
  EXPECT_EQ(json["rows"][1]["registers"], 48);
  EXPECT_EQ(json["rows"][1]["predicted_shared_bytes"], 36864);
  EXPECT_EQ(json["rows"][1]["verdict"], "first_seen");
}

// A kernel with a larger tile of queries: S and O alone need 288 registers, but a thread has at
// most 255.
class PlantedRegression : public test::CommandTest {
 protected:
  void compile(const std::string& folder, int tile_q) const {
    const auto source = test::source_directory / "tests" / "resources" / "tile.cu";
    const auto script = test::source_directory / "ci" / "cmake" / "CompileCuda.cmake";
    const auto compiled = shell(
        "mkdir -p " + folder +
        " && " PLUMBLINE_CMAKE " -D SOURCE=tests/resources/tile.cu -D TOOLKIT=here -D REPORT=" +
        (directory_ / folder / "tile.ptxas.txt").string() + " -P '" + script.string() +
        "' -- nvcc -std=c++20 --fmad=false -O3 --resource-usage --threads 2 -DTILE_Q=" +
        std::to_string(tile_q) +
        " -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -c '" +
        source.string() + "' -o " + folder + "/tile.o");
    ASSERT_EQ(compiled.code, 0) << compiled.text;
    const int shared = 2 * (tile_q * 128 + 2 * 64 * 128);
    write(folder + "/tile.launch.toml",
          "schema = 1\n[[launch]]\nkernel = \"tile_attention\"\nthreads = "
          "128\ndynamic_shared_bytes = " +
              std::to_string(shared) + "\ntile_q = " + std::to_string(tile_q) +
              "\ntile_kv = 64\nhead_dim_qk = 128\nelement_bytes = 2\n");
  }
};

TEST_F(PlantedRegression, SpillIsFlaggedOnBothArchitectures) {
  if (shell("command -v nvcc").code != 0) GTEST_SKIP() << "nvcc is not on the PATH";
  compile("small", 16);
  compile("large", 192);
  const auto accepted =
      plumbline("resources --reports small --baseline approved --accept --reason small --who Ada");
  ASSERT_EQ(accepted.code, 0) << accepted.text;
  EXPECT_EQ(plumbline("resources --reports small --baseline approved").code, 0);

  const auto flagged = plumbline("resources --reports large --baseline approved --format json");
  EXPECT_EQ(flagged.code, 1) << flagged.text;
  const auto json = nlohmann::json::parse(flagged.text)["data"];
  ASSERT_EQ(json["rows"].size(), 2U);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["verdict"], "regressed") << row;
    EXPECT_GT(row["spill_store_bytes"], 0) << row;
    EXPECT_EQ(row["predicted_registers"], 288) << row;
    EXPECT_THAT(row["why"].get<std::string>(), HasSubstr("bytes spilled (0 approved)"));
  }
  EXPECT_EQ(json["rows"][0]["arch"], "sm_80");
  EXPECT_EQ(json["rows"][1]["arch"], "sm_90");
}

}  // namespace
}  // namespace plumbline
