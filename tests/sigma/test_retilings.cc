// A hundred legal retilings are not a regression, but a kernel with one more rounding is. The judge
// compares cpu/flash with its past over smoke, and cpu/split_kv over problems whose split partials
// matter. The added roundings are a second one of P, and an undeclared one of partial results to 16
// bits.
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

// number of cases that the drift of the median needs (docs/judging-comparisons.md)
constexpr int min_drift_cases = 30;

struct Drift {
  int cases = 0;
  double median = 0, quartile = 0;
  std::string median_status, quartile_status;
};
Drift drift_of(const RunSession& session, const std::string& kernel) {
  Drift drift;
  for (const SuiteScore& score : session.scores()) {
    if (score.kernel != kernel) continue;
    if (score.statistic == "drift of the median")
      drift.cases = score.cases, drift.median = score.value, drift.median_status = score.status;
    if (score.statistic == "drift of the lower quartile")
      drift.quartile = score.value, drift.quartile_status = score.status;
  }
  return drift;
}

// Extreme values over a hundred retilings.
struct Reached {
  double smallest_median = 10, largest_median = 0, largest_quartile = 0;
  int judged = 0;

  void add(const Drift& drift) {
    if (drift.cases < min_drift_cases) return;
    smallest_median = std::min(smallest_median, drift.median);
    largest_median = std::max(largest_median, drift.median);
    largest_quartile = std::max(largest_quartile, drift.quartile);
    ++judged;
  }
};

// Stores one night of both kernels with the default tiles. Every test starts from a copy of that
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
    const auto smoke = read_suite(source_directory / "cases" / "smoke.toml");
    ASSERT_TRUE(smoke) << to_string(smoke.error());
    const auto partials = read_suite(source_directory / "tests" / "planted" / "partials.toml");
    ASSERT_TRUE(partials) << to_string(partials.error());
    const auto providers = discover(measure_options(""));
    ASSERT_TRUE(providers) << to_string(providers.error());
    CaseFilter filter;
    filter.match = {"cpu/flash/*", "cpu/split_kv/*"};
    auto plan = make_plan({*smoke, *partials}, offered_kernels(*providers), filter);
    ASSERT_TRUE(plan) << to_string(plan.error());
    plan_ = std::move(*plan);
    plan_.diffs.clear();
    std::erase_if(plan_.cases, [](const PlannedCase& planned) {
      return planned.suite == "smoke" && planned.c.kernel != "cpu/flash";
    });
  }

  // Options that plumbline sees would make another series, so these make another build of the
  // kernel.
  static MeasureOptions measure_options(const std::string& options) {
    ::setenv("PLANTED_OPTIONS", options.c_str(), 1);
    MeasureOptions measure = cpu_provider("");
    measure.providers = {
        (binary_directory / "tests" / "planted" / "plumbline_planted_cpu.so").string()};
    measure.reference_cache = directory_->path() / "references";
    return measure;
  }

  // Returns a complete run of the cases, stored in `database`. After an error, adds a failure and
  // returns nullptr.
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

  // Runs the next night with a build that has other options.
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

// 25 tile widths other than the default 64, in either order, with and without a lagging maximum.
// tile_q, which affects no bit, also varies.
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

TEST_F(Retilings, AreNotRegressions) {
  const auto retilings = legal_retilings();
  ASSERT_EQ(retilings.size(), 100U);
  double largest = 0;
  std::string largest_case;
  Reached flash, split_kv;
  for (const Retiling& retiling : retilings) {
    const auto session = run_after_baseline(retiling.options);
    ASSERT_NE(session, nullptr) << retiling.options;
    expect_no_alarm(*session, retiling.options);
    EXPECT_GT(count(*session, Verdict::changed), 0)
        << retiling.options << " changes nothing and tests nothing";
    flash.add(drift_of(*session, "cpu/flash"));
    split_kv.add(drift_of(*session, "cpu/split_kv"));
    expect_no_alarm(session->scores(), retiling.options);
    EXPECT_EQ(session->exit_code(), 0) << retiling.options;
    for (const StoredOutcome& stored : session->outcomes()) {
      const double ratio = std::max(stored.outcome.errors.rms, 0.3) /
                           std::max(baseline_rms_.at(stored.outcome.case_id), 0.3);
      if (ratio > largest)
        largest = ratio, largest_case = retiling.options + " " + stored.outcome.case_id;
    }
  }
  fmt::print("largest ratio {:.3f} ({})\n", largest, largest_case);
  for (const auto& [kernel, reached] : {std::pair{"cpu/flash", flash}, {"cpu/split_kv", split_kv}})
    fmt::print("{}: median ratios {:.4f} to {:.4f}, lower quartiles to {:.4f}, in {} runs\n",
               kernel, reached.smallest_median, reached.largest_median, reached.largest_quartile,
               reached.judged);
  EXPECT_GE(flash.judged, 40) << "the drift is hardly tested";
  EXPECT_EQ(split_kv.judged, 100);
}

TEST_F(Retilings, SecondRoundingOfPIsRegression) {
  const auto session = run_after_baseline("double_round_p=1");
  ASSERT_NE(session, nullptr);
  const Drift drift = drift_of(*session, "cpu/flash");
  ASSERT_GE(drift.cases, min_drift_cases);
  fmt::print("median ratio {:.3f} over {} cases, {} cases regressed\n", drift.median, drift.cases,
             count(*session, Verdict::regressed));
  EXPECT_EQ(drift.median_status, "fail");
  EXPECT_GE(drift.median, 1.12);
  EXPECT_LE(drift.median, 1.3);
  EXPECT_EQ(session->exit_code(), 1);
}

TEST_F(Retilings, UndeclaredNarrowPartialsAreRegression) {
  const auto session = run_after_baseline("partials=16,undeclared=1");
  ASSERT_NE(session, nullptr);
  const Drift drift = drift_of(*session, "cpu/split_kv");
  ASSERT_GE(drift.cases, min_drift_cases);
  fmt::print("lower quartile {:.3f}, median {:.3f} over {} cases\n", drift.quartile, drift.median,
             drift.cases);
  EXPECT_EQ(drift.quartile_status, "fail");
  EXPECT_GE(drift.quartile, 1.08);
  EXPECT_EQ(session->exit_code(), 1);
}

}  // namespace
}  // namespace plumbline::test
