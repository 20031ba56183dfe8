// Tests that check agrees with run: every case of cases/features.toml on the CPU kernels, and
// kernels with known bugs, saved as dumps and read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/cli/command.h"

namespace plumbline::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Makes run and check sample the same rows: those that do not change from night to night.
constexpr auto same_rows = " --reference-cost 1e9";

class FeaturesThroughDumps : public CommandTest {
 protected:
  // Returns the measured cases, by the file to which each was saved.
  std::map<std::string, json> run(const std::string& arguments, int code) const {
    const auto result = plumbline("run " + arguments + " --no-store --row-seed 0" + same_rows +
                                  " --save-outputs saved --format json > run.json");
    EXPECT_EQ(result.code, code) << result.text;
    std::map<std::string, json> cases;
    const json report = json::parse(read("run.json"));
    for (const json& outcome : report["data"]["outcomes"]) {
      if (outcome["status"] != "ok") continue;
      const std::string file = outcome.value("saved_to", "");
      EXPECT_THAT(file, testing::EndsWith(".safetensors")) << outcome["case"];
      cases[file] = outcome;
    }
    return cases;
  }

  // Returns the report of check on each saved file.
  std::map<std::string, json> check() const {
    plumbline(std::string("check saved/*.safetensors --format json > check.json") + same_rows);
    const json result = json::parse(read("check.json"));
    EXPECT_TRUE(result["errors"].empty()) << result["errors"].dump(1);
    std::map<std::string, json> reports;
    for (const json& report : result["data"]["dumps"]) reports[report["dump"]] = report;
    return reports;
  }
};

// Numbers are equal if they agree in four digits, as reports print them.
void expect_alike(const json& a, const json& b, const std::string& what) {
  if (a.is_null() || b.is_null()) {
    EXPECT_EQ(a.is_null(), b.is_null()) << what;
    return;
  }
  const auto x = a.get<double>(), y = b.get<double>();
  EXPECT_LE(std::abs(x - y), 5e-5 * std::max(std::abs(x), 1e-3)) << what << ": " << x << ", " << y;
}

void expect_same_judgement(const json& outcome, const json& report) {
  const std::string case_id = outcome["case"];
  EXPECT_TRUE(report["spec_stated"]) << case_id;
  EXPECT_EQ(report["rows_compared"], outcome["reference_rows"]) << case_id;
  const json &errors = outcome["errors"], &stated = report["ladder"][0];
  const bool nothing = errors["elements"] == 0;
  for (const char* statistic : {"peak", "beyond_output", "rms", "lse_z"}) {
    if (nothing) break;
    expect_alike(errors.value(statistic, json()), stated.value(statistic, json()),
                 case_id + " " + statistic);
  }
  EXPECT_EQ(report["answer"], nothing ? "UNDECIDED" : "ROUNDING")
      << case_id << ": " << report["sentence"];
  EXPECT_EQ(nothing, report["sentence"].get<std::string>().find("no row sees a key") == 0)
      << case_id << ": " << report["sentence"];
}

TEST_F(FeaturesThroughDumps, CheckAgreesWithRun) {
  const auto cases =
      run("'" + (source_directory / "cases" / "features.toml").string() +
              "' --exclude '*/device=emulated:*' --provider '" + cpu_provider() + "'",
          0);
  const auto reports = check();
  std::map<std::string, int> features;
  for (const auto& [file, outcome] : cases) {
    ASSERT_EQ(reports.count(file), 1U) << outcome["case"];
    expect_same_judgement(outcome, reports.at(file));
    const std::string case_id = outcome["case"];
    for (const char* feature : {"softcap=", "alibi=", "sinks=", "mask=custom", "mask=prefix_lm",
                                "mask=block_diagonal", "kv=e4m3", "kv_scales=", "view=", "out="}) {
      if (case_id.find(feature) != std::string::npos) ++features[feature];
    }
  }
  EXPECT_EQ(reports.size(), cases.size());
  std::printf("%zu of %zu measured cases of features.toml went through dumps\n", reports.size(),
              cases.size());
  EXPECT_GT(cases.size(), 800U);
  for (const auto& [feature, count] : features) std::printf("  %s %d\n", feature.c_str(), count);
  EXPECT_EQ(features.size(), 10U);
}

struct Mutant {
  const char* kernel;
  const char* problem;
  const char* cause;  // the cause that check names
};

TEST_F(FeaturesThroughDumps, KnownBugsAreExplained) {
  const auto problem = [](const Mutant& mutant) {
    const std::string shape = "bf16/b2-h8x2-s65x130-d64/mask=", feature = mutant.problem;
    return feature.empty() ? shape + "custom" : shape + "causal_bottom_right/" + feature;
  };
  const std::vector<Mutant> mutants{
      {"softcap_ignored", "law=llm/softcap=30", "if the softcap were not applied"},
      {"softcap_before_scale", "law=llm/softcap=30",
       "if the softcap were applied before the softmax scale"},
      {"softcap_of_powers_of_two", "law=llm/softcap=30",
       "if the softcap were applied to base-2 logits"},
      {"alibi_before_scale", "alibi=standard",
       "if the ALiBi slopes were multiplied by the softmax scale"},
      {"alibi_log2e_missing", "alibi=standard", "if the ALiBi slopes were multiplied by ln 2"},
      {"sink_of_neighbour", "sinks=normal", "if each head had the attention sink of the next"},
      {"sink_log2e_missing", "sinks=normal", "if the attention sinks were multiplied by ln 2"},
      {"sink_scaled", "sinks=normal",
       "if the attention sinks were multiplied by the softmax scale"},
      // Only check finds this cause: a dump has the mask's bits, but a run draws them again.
      {"mask_bits_of_first_sample", "", "if all samples had the mask of sample 0"},
  };
  std::string selection;
  for (const Mutant& mutant : mutants)
    selection += std::string(" --case 'mutants/") + mutant.kernel + "/" + problem(mutant) + "'";
  const auto cases = run("--provider mutants" + selection, 1);
  ASSERT_EQ(cases.size(), mutants.size());
  const auto reports = check();
  for (const auto& [file, outcome] : cases) {
    const std::string kernel = std::string(outcome["kernel"]).substr(8);
    const auto mutant = std::find_if(mutants.begin(), mutants.end(),
                                     [&](const Mutant& m) { return kernel == m.kernel; });
    ASSERT_NE(mutant, mutants.end()) << kernel;
    const json& report = reports.at(file);
    EXPECT_EQ(report["answer"], "BUG") << kernel << ": " << report["sentence"];
    EXPECT_THAT(report["cause"], HasSubstr(mutant->cause)) << kernel;
    if (*mutant->problem == '\0') continue;
    EXPECT_EQ(report["cause"], outcome["cause"]) << kernel << ": run says another";
  }
}

}  // namespace
}  // namespace plumbline::test
