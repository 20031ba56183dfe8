// A hundred legal retilings are no regression, and a kernel with one more rounding is one. The
// judge compares cpu/flash with its past over its smoke cases; the rounding is a second one of P.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "harness/contract/reviewed_text.h"
#include "harness/suite/suite.h"
#include "tests/sigma/conformance.h"

namespace plumbline::test {
namespace {

constexpr const char* kernel = "cpu/flash";
// docs/judging-comparisons.md: the drift of the median needs as many
constexpr int least_drift_cases = 30;

struct Drift {
  int cases = 0;
  double median = 0;
  std::string status;
};
Drift drift_of(const RunSession& session) {
  for (const SuiteScore& score : session.scores()) {
    if (score.statistic == "drift of the median" && score.kernel == kernel)
      return {score.cases, score.value, score.status};
  }
  return {};
}

// One night of cpu/flash with the default tiles is stored; every test starts from a copy of that
// database.
class Retilings : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    auto text = reviewed_text();
    ASSERT_TRUE(text) << to_string(text.error());
    text_ = std::make_unique<ReviewedText>(std::move(*text));
    make_cases();
    const auto baseline = run("", directory_->path() / "baseline.db");
    ASSERT_NE(baseline, nullptr);
    expect_no_alarm(*baseline, "the baseline");
    expect_no_alarm(baseline->scores(), "the baseline");
    for (const StoredOutcome& stored : baseline->outcomes())
      baseline_rms_[stored.outcome.case_id] = stored.outcome.errors.rms;
    RecordProperty("measured", count(*baseline, Verdict::first_seen));
  }
  static void TearDownTestSuite() {
    plan_ = {};
    text_.reset();
    directory_.reset();
  }

  static void make_cases() {
    const auto suite = read_suite(source_directory / "cases" / "smoke.toml");
    ASSERT_TRUE(suite) << to_string(suite.error());
    const auto providers = discover(measure_options(""));
    ASSERT_TRUE(providers) << to_string(providers.error());
    CaseFilter filter;
    filter.match = {"cpu/flash/*"};
    auto plan = make_plan({*suite}, offered_kernels(*providers), filter);
    ASSERT_TRUE(plan) << to_string(plan.error());
    plan_ = std::move(*plan);
    plan_.diffs.clear();
  }

  // Options that plumbline sees would be another series: these make another build of the kernel.
  static MeasureOptions measure_options(const std::string& options) {
    ::setenv("PLANTED_OPTIONS", options.c_str(), 1);
    MeasureOptions measure = cpu_provider("");
    measure.providers = {
        (binary_directory / "tests" / "planted" / "plumbline_planted_cpu.so").string()};
    measure.reference_cache = directory_->path() / "references";
    return measure;
  }

  // A complete run of cpu/flash's cases, stored in `database`; nullptr and a failure where it could
  // not be made.
  static std::unique_ptr<RunSession> run(const std::string& options,
                                         const std::filesystem::path& database) {
    const MeasureOptions measure = measure_options(options);
    const auto providers = discover(measure);
    auto store = Store::open(database);
    if (!providers || !store) {
      ADD_FAILURE() << (providers ? "" : to_string(providers.error()))
                    << (store ? "" : to_string(store.error()));
      return nullptr;
    }
    const Runner runner{measure, *providers, text_->contracts};
    auto session = std::make_unique<RunSession>(cli::this_run("test", "", "plumbline run", {}),
                                                runner, *text_, store->get());
    if (const auto done = session->execute(plan_, true, [] {}); !done) {
      ADD_FAILURE() << to_string(done.error());
      return nullptr;
    }
    return session;
  }

  // The next night, with a build that computes by other options.
  static std::unique_ptr<RunSession> run_after_baseline(const std::string& options) {
    const auto database = directory_->path() / "next.db";
    std::filesystem::copy_file(directory_->path() / "baseline.db", database,
                               std::filesystem::copy_options::overwrite_existing);
    auto session = run(options, database);
    std::filesystem::remove(database);
    return session;
  }

  static inline std::unique_ptr<TemporaryDirectory> directory_;
  static inline std::unique_ptr<ReviewedText> text_;
  static inline Plan plan_;
  static inline std::map<std::string, double> baseline_rms_;
};

struct Retiling {
  int tile_kv = 64;
  bool reverse = false, lazy = false;
  std::string options;
};

// 25 tile widths but the default's 64, in either order, with and without a lagging maximum. tile_q,
// which no bit depends on, goes along.
std::vector<Retiling> legal_retilings() {
  std::vector<Retiling> all;
  for (int tile_kv = 8; tile_kv <= 208; tile_kv += 8) {
    if (tile_kv == 64) continue;
    for (const bool reverse : {false, true}) {
      for (const bool lazy : {false, true}) {
        const int tile_q = 1 + static_cast<int>(all.size()) % 48;
        all.push_back({tile_kv, reverse, lazy,
                       fmt::format("tile_q={},tile_kv={},reverse={:d},lazy={:d}", tile_q, tile_kv,
                                   reverse, lazy)});
      }
    }
  }
  return all;
}

TEST_F(Retilings, AreNoRegression) {
  const auto retilings = legal_retilings();
  ASSERT_EQ(retilings.size(), 100U);
  double largest = 0, smallest_median = 10, largest_median = 0;
  std::string largest_case;
  int judged = 0;
  for (const Retiling& retiling : retilings) {
    const auto session = run_after_baseline(retiling.options);
    ASSERT_NE(session, nullptr) << retiling.options;
    expect_no_alarm(*session, retiling.options);
    EXPECT_GT(count(*session, Verdict::changed), 0)
        << retiling.options << " changes nothing and tests nothing";
    const Drift drift = drift_of(*session);
    expect_no_alarm(session->scores(), retiling.options);
    EXPECT_EQ(session->exit_code(), 0) << retiling.options;
    if (drift.cases >= least_drift_cases) {
      smallest_median = std::min(smallest_median, drift.median);
      largest_median = std::max(largest_median, drift.median);
      ++judged;
    }
    for (const StoredOutcome& stored : session->outcomes()) {
      const double ratio = std::max(stored.outcome.errors.rms, 0.3) /
                           std::max(baseline_rms_.at(stored.outcome.case_id), 0.3);
      if (ratio > largest)
        largest = ratio, largest_case = retiling.options + " " + stored.outcome.case_id;
    }
  }
  fmt::print(
      "largest ratio {:.3f} ({}); median ratios {:.4f} to {:.4f} in {} runs with enough changed "
      "cases\n",
      largest, largest_case, smallest_median, largest_median, judged);
  EXPECT_GE(judged, 40) << "the drift of the median is hardly tested";
}

TEST_F(Retilings, ASecondRoundingOfPIsARegression) {
  const auto session = run_after_baseline("double_round_p=1");
  ASSERT_NE(session, nullptr);
  const Drift drift = drift_of(*session);
  ASSERT_GE(drift.cases, least_drift_cases);
  fmt::print("median ratio {:.3f} over {} cases, {} cases regressed\n", drift.median, drift.cases,
             count(*session, Verdict::regressed));
  EXPECT_EQ(drift.status, "fail");
  EXPECT_GE(drift.median, 1.1);
  EXPECT_LE(drift.median, 1.3);
  EXPECT_EQ(session->exit_code(), 1);
}

}  // namespace
}  // namespace plumbline::test
