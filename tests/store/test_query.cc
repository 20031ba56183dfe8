// SQL from outside can only read, the views say what they should, and the examples are true. The
// examples are those of README.md and the example queries.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/judge/judge.h"
#include "harness/resources/compare.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

// Rows as text, "NULL" for NULL.
std::vector<std::vector<std::string>> rows_of(const Store::Table& table) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    auto& texts = rows.emplace_back();
    for (const auto& value : row) texts.push_back(value.value_or("NULL"));
  }
  return rows;
}

StoredDiff diff_with_other_bits() {
  StoredDiff stored;
  DiffOutcome& d = stored.outcome;
  d.suite = "stories";
  d.name = "prefill vs decode";
  d.tier = "smoke";
  d.expect = "rounding";
  d.case_a = "cpu/flash/bf16/b1-h4-s128-d64";
  d.case_b = "cpu/flash/bf16/b1-h4-s1x128-d64";
  d.status = Status::ok;
  d.rows = 4;
  d.elements = 256;
  d.max_abs = 0.125;
  d.max_sigma = 4.5;
  d.bit_equal_share = 0.9;
  d.heads = 4;
  d.heads_bit_equal = 2;
  d.per_head = {{0, 0, 0, 0, true},
                {0, 1, 1e-5, 0.125, false},
                {0, 2, 0, 0, true},
                {0, 3, 1e-6, 0.0625, false}};
  stored.judgement.verdict = Verdict::pass;
  return stored;
}

StoredInvariance broken_invariance() {
  StoredInvariance stored;
  InvarianceOutcome& o = stored.outcome;
  o.suite = passing().outcome.suite;
  o.tier = "smoke";
  o.c = passing().outcome.c;
  o.case_id = passing().outcome.case_id;
  o.invariance = Invariance::neighbour;
  o.promise = Promise::bitwise;
  o.status = Status::ok;
  o.calls = 2;
  o.elements = 1000;
  o.other_bits = 3;
  o.statistic = "lse";
  o.element = {1, 2, 3, -1};
  o.value_a = 0.5;
  o.value_b = 0.25;
  o.sigmas = 2.5;
  o.limit = 6;
  o.ulps = 4;
  o.problem_a = "bf16/b1-h4-s128-d64";
  o.problem_b = "beside samples of NaN";
  stored.judgement = judge_invariance(o);
  return stored;
}

JudgedResources compiled_kernel(int spilled) {
  Resources now;
  now.usage = {"prefill<64>", "sm_90a", 168, spilled, spilled, 0, 1024, 0, 1};
  now.launch = "two stages";
  now.facts = LaunchFacts{"prefill<*>", now.launch, 128, 40960, true, Tiles{64, 64, 64, 64, 2, 2}};
  now.occupancy = Occupancy{12, 64, "registers"};
  now.prediction = predict(*now.facts->tiles, now.facts->threads);
  return {"prefill.cu",
          "nvcc 13.0.88",
          now.usage.kernel,
          now.launch,
          now.usage.arch,
          now,
          std::nullopt,
          spilled > 0 ? ResourceVerdict::regressed : ResourceVerdict::pass,
          ""};
}

// Three weeks of one machine and a run of another: good, then failing, slowly slower, with a change
// of build and of bits.
class Query : public StoreTest {
 protected:
  Query() {
    for (int day = 1; day <= 4; ++day) store_run(*store_, run_info(day * 1440), night(day));
    value_of(store_->accept(id(3), "*-d128", "Ada", "new tiling"));
    store_run(*store_, run_info(2880, "Xeon"), {passing()});
    const RunInfo last = run_info(5 * 1440);
    value_of(store_->begin_run(last));
    for (const StoredOutcome& outcome : night(5)) value_of(store_->add(last.run_id, outcome));
    value_of(store_->add(last.run_id, diff_with_other_bits()));
    for (const int day : {4, 5})
      value_of(store_->add_resources(id(day), {compiled_kernel(day == 4 ? 0 : 24)}));
    StoredInvariance kept = broken_invariance();
    kept.outcome.invariance = Invariance::solo;
    kept.outcome.other_bits = 0;
    kept.outcome.statistic.clear();
    kept.judgement = judge_invariance(kept.outcome);
    value_of(store_->add_invariances(last.run_id, {broken_invariance(), kept}));
    value_of(store_->add_suite_scores(
        last.run_id, {{"smoke", "cpu/flash", "bf16", "shrink", 40, 1.0, 3.5, "pass"}}));
    value_of(store_->finish_run(last.run_id, 1, true));
  }

  static std::string id(int day) { return run_info(day * 1440).run_id; }

  static std::vector<StoredOutcome> night(int day) {
    StoredOutcome slower = passing();
    slower.outcome.time_ratio = 2 + 0.1 * day;
    StoredOutcome breaks = passing("bf16/b1-h4-s128-d64/mask=causal_bottom_right");
    if (day >= 3) breaks = with_verdict(breaks, Verdict::fail);
    StoredOutcome accepted = passing("bf16/b1-h4-s128-d128");
    if (day == 3) accepted = with_verdict(accepted, Verdict::regressed);
    StoredOutcome flips = passing("fp16/b1-h4-s128-d64");
    flips.outcome.output_digest = std::string(32, day == 4 ? 'e' : 'd');
    StoredOutcome rebuilt = passing("fp16/b1-h4-s128-d64", "cpu/split_kv");
    rebuilt.outcome.description.build_id = day < 4 ? "build-1" : "build-2";
    rebuilt.outcome.description.registers_per_thread = day < 4 ? 66 : 182;
    rebuilt.outcome.output_digest = std::string(32, day < 4 ? 'd' : 'f');
    rebuilt.outcome.widening = 2.5;
    rebuilt.outcome.errors.rms = day < 4 ? 0.8 : 0.9;
    rebuilt.judgement.percent_of_limit = 90;
    return {slower,   breaks,
            accepted, flips,
            rebuilt,  not_run(Status::unsupported, Verdict::unsupported, "fp32 is not supported")};
  }

  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    return rows_of(value_of(store_->query(sql)));
  }
  std::vector<std::vector<std::string>> example(const std::string& file) {
    return rows(read_file(fs::path(PLUMBLINE_BASELINES) / "queries" / file));
  }

  std::unique_ptr<Store> store_ = open();
};

TEST_F(Query, ReturnsColumnsAndTexts) {
  const auto table =
      value_of(store_->query("SELECT 1 AS one, 0.5 AS half, 'a' AS letter, NULL AS absent, x'00ff' "
                             "AS bytes, 9e999 AS huge -- comment"));
  EXPECT_THAT(table.columns, ElementsAre("one", "half", "letter", "absent", "bytes", "huge"));
  EXPECT_THAT(rows_of(table), ElementsAre(ElementsAre("1", "0.5", "a", "NULL", "x'00ff'", "Inf")));
  EXPECT_FALSE(table.rows.at(0).at(3).has_value());
}

// a wins up to 128 keys, b from 256 on; at another dtype b always wins.
TEST_F(Query, CrossoverIsFirstLengthWon) {
  const RunInfo run = run_info(6 * 1440);
  value_of(store_->begin_run(run));
  const auto add = [&](const std::string& dtype, int seq, double time_a, double time_b,
                       std::int64_t memory) {
    StoredDiff diff = diff_with_other_bits();
    const std::string problem = fmt::format("{}/b1-h4-s{}-d64", dtype, seq);
    StoredOutcome a = passing(problem, "cpu/flash_attended"),
                  b = passing(problem, "cpu/flash_unpad");
    a.outcome.peak_memory_bytes = memory;
    diff.outcome.name = "valid rows";
    diff.outcome.case_a = a.outcome.case_id, diff.outcome.case_b = b.outcome.case_id;
    diff.outcome.time_ns_a = time_a, diff.outcome.time_ns_b = time_b;
    diff.outcome.suite = a.outcome.suite;
    value_of(store_->add(run.run_id, a));
    value_of(store_->add(run.run_id, b));
    value_of(store_->add(run.run_id, diff));
  };
  add("bf16", 64, 1, 2, 100);
  add("bf16", 128, 3, 4, 200);
  add("bf16", 256, 8, 7, 400);
  add("bf16", 512, 20, 10, 800);
  add("fp16", 64, 3, 2, 100);
  value_of(store_->finish_run(run.run_id, 0, true));
  EXPECT_THAT(rows("SELECT dtype, seq, faster, crossover_seq, peak_memory_bytes_a, "
                   "peak_memory_bytes_b FROM v_crossover ORDER BY dtype, seq"),
              ElementsAre(ElementsAre("bf16", "64", "cpu/flash_attended", "256", "100", "NULL"),
                          ElementsAre("bf16", "128", "cpu/flash_attended", "256", "200", "NULL"),
                          ElementsAre("bf16", "256", "cpu/flash_unpad", "256", "400", "NULL"),
                          ElementsAre("bf16", "512", "cpu/flash_unpad", "256", "800", "NULL"),
                          ElementsAre("fp16", "64", "cpu/flash_unpad", "64", "100", "NULL")));
}

TEST_F(Query, ReadsOnly) {
  const std::string before = raw_sql(path_, "SELECT count(*) FROM outcome")[0][0];
  for (const char* sql : {"DELETE FROM outcome",
                          "INSERT INTO meta VALUES ('a', 'b')",
                          "UPDATE run SET host = 'x'",
                          "DROP VIEW v_latest",
                          "CREATE TABLE t(a)",
                          "CREATE TEMP TABLE t(a)",
                          "PRAGMA user_version = 9",
                          "PRAGMA journal_mode = delete",
                          "PRAGMA writable_schema = 1",
                          "BEGIN",
                          "BEGIN IMMEDIATE",
                          "COMMIT",
                          "ATTACH 'other.db' AS other",
                          "DETACH main",
                          "VACUUM",
                          "VACUUM INTO 'copy.db'",
                          "REINDEX",
                          "ANALYZE",
                          "WITH a AS (SELECT 1) DELETE FROM outcome",
                          "SELECT load_extension('x')"}) {
    EXPECT_THAT(error_of(store_->query(sql)),
                AnyOf(HasSubstr("do more than read"), HasSubstr("would write"),
                      HasSubstr("not authorized")))
        << sql;
  }
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM outcome")[0][0], before);
  EXPECT_FALSE(fs::exists("other.db") || fs::exists("copy.db"));
}

TEST_F(Query, TakesExactlyOneStatement) {
  EXPECT_THAT(error_of(store_->query("SELECT 1; SELECT 2")), HasSubstr("more than one statement"));
  EXPECT_THAT(error_of(store_->query("SELECT 1; DELETE FROM outcome")),
              HasSubstr("more than one statement"));
  for (const char* nothing : {"", "  ", ";", "-- only a comment", "/* */;"})
    EXPECT_THAT(error_of(store_->query(nothing)), HasSubstr("is empty")) << nothing;
  EXPECT_THAT(rows("; -- first\n SELECT 1 ;; /* last */ "), ElementsAre(ElementsAre("1")));
}

TEST_F(Query, ReportsSqliteMessage) {
  EXPECT_THAT(error_of(store_->query("SELEC 1")), HasSubstr("near \"SELEC\": syntax error"));
  EXPECT_THAT(error_of(store_->query("SELECT mood FROM v_latest")),
              AllOf(HasSubstr("no such column: mood"), HasSubstr("plumbline query --list")));
  EXPECT_THAT(error_of(store_->query("SELECT \"mood\" FROM v_latest")), HasSubstr("no such column"))
      << "not the text 'mood'";
  EXPECT_THAT(error_of(store_->query("SELECT json_extract('{', '$')")), HasSubstr("malformed JSON"))
      << "an error while stepping";
  EXPECT_THAT(error_of(store_->query("SELECT '\xff'")), HasSubstr("not UTF-8"));
}

TEST_F(Query, SeesPendingRows) {
  value_of(store_->begin_run(run_info(9000)));
  value_of(store_->add(run_info(9000).run_id, passing()));
  EXPECT_THAT(rows("SELECT finished, outcomes FROM v_runs ORDER BY run_order DESC LIMIT 1"),
              ElementsAre(ElementsAre("0", "1")));
}

TEST_F(Query, LatestHasOneRowPerSeries) {
  EXPECT_THAT(rows("SELECT count(*), count(DISTINCT case_id || machine_class) FROM v_latest"),
              ElementsAre(ElementsAre("7", "7")));
  EXPECT_THAT(rows("SELECT DISTINCT run_id FROM v_latest WHERE machine LIKE '%EPYC'"),
              ElementsAre(ElementsAre(id(5))));
}

TEST_F(Query, LatestShowsSharedCaseOnce) {
  StoredOutcome smoke = passing(), pr = passing();
  pr.outcome.suite = "pr";
  store_run(*store_, run_info(9000), {pr, smoke});
  EXPECT_THAT(rows("SELECT suite FROM v_latest WHERE run_id = '" + run_info(9000).run_id + "'"),
              ElementsAre(ElementsAre("smoke")));
  EXPECT_THAT(rows("SELECT suite, cases FROM v_coverage WHERE suite = 'pr'"),
              ElementsAre(ElementsAre("pr", "1")));
}

TEST_F(Query, RegressionsNamePreviousAcceptedRun) {
  EXPECT_THAT(rows("SELECT started_at, previous_run_id, accepted FROM v_regressions WHERE mask <> "
                   "'none' ORDER BY run_order"),
              ElementsAre(ElementsAre("2026-01-04T00:00:00Z", id(2), "0"),
                          ElementsAre("2026-01-05T00:00:00Z", id(2), "0"),
                          ElementsAre("2026-01-06T00:00:00Z", id(2), "0")));
  EXPECT_THAT(rows("SELECT previous_run_id, accepted FROM v_regressions WHERE mask = 'none'"),
              ElementsAre(ElementsAre(id(2), "1")));
}

TEST_F(Query, RegressionsWithoutPast) {
  store_run(*store_, run_info(9000), {with_verdict(passing("bf16/b1-h1-s1-d64"), Verdict::fail)});
  EXPECT_THAT(
      rows("SELECT previous_run_id, failing_since = run_order FROM v_regressions WHERE run_id = '" +
           run_info(9000).run_id + "'"),
      ElementsAre(ElementsAre("NULL", "1")));
}

TEST_F(Query, CoverageCountsNewestVerdicts) {
  EXPECT_THAT(rows("SELECT cases, outcomes, fine, failures, unsupported, ambiguous FROM v_coverage "
                   "WHERE kernel = 'cpu/flash' AND dtype = "
                   "'bf16' ORDER BY mask"),
              ElementsAre(ElementsAre("1", "1", "0", "1", "0", "0"),
                          ElementsAre("2", "3", "3", "0", "0", "0")));
  EXPECT_THAT(rows("SELECT count(*) FROM v_coverage WHERE outcomes <> fine + failures + "
                   "unsupported + ambiguous + unconfirmed"),
              ElementsAre(ElementsAre("0")));
}

TEST_F(Query, SupportFollowsKernelRefusals) {
  StoredOutcome crash =
      not_run(Status::crashed, Verdict::crashed, "signal 11", "fp16/b1-h4-s128-d64/layout=ragged");
  StoredOutcome large = not_run(Status::unsupported, Verdict::unsupported, "head_dim above 128",
                                "fp16/b1-h4-s128-d256");
  store_run(*store_, run_info(9000), {crash, large});
  EXPECT_THAT(
      rows("SELECT dtype, layout, support, cases_supported, cases_unsupported, reasons FROM "
           "v_support "
           "WHERE kernel = 'cpu/flash' AND dtype <> 'bf16' ORDER BY dtype, layout"),
      ElementsAre(
          ElementsAre("fp16", "padded_bshd", "mixed", "1", "1", "head_dim above 128"),
          ElementsAre("fp16", "ragged", "supported", "1", "0", "NULL"),
          ElementsAre("fp32", "padded_bshd", "unsupported", "0", "1", "fp32 is not supported")));
}

TEST_F(Query, ExampleResults) {
  const std::string failing = "cpu/flash/bf16/b1-h4-s128-d64/mask=causal_bottom_right",
                    flipping = "cpu/flash/fp16/b1-h4-s128-d64";
  const std::string epyc = "cpu x86-64-v3 EPYC";
  EXPECT_THAT(example("01-failing-since.sql"),
              ElementsAre(ElementsAre(failing, epyc, "fail", "2026-01-04T00:00:00Z", "c0000b40",
                                      "c00010e0")));
  EXPECT_THAT(example("02-nearest-to-the-limit.sql").at(0),
              ElementsAre("cpu/split_kv", "90.0", "peak", "cpu/split_kv/fp16/b1-h4-s128-d64"));
  EXPECT_THAT(example("03-slow-changes.sql").at(0),
              ElementsAre("cpu/flash/bf16/b1-h4-s128-d64", "", epyc, "5", "2.2", "2.4",
                          HasSubstr("1.0909")));
  EXPECT_THAT(example("04-unsupported.sql"),
              ElementsAre(ElementsAre("cpu/flash", "x86-64-v3", "fp32", "fp32", "padded_bshd",
                                      "none", "1", "fp32 is not supported")));
  const auto flips = example("05-other-bits-of-the-same-build.sql");
  ASSERT_EQ(flips.size(), 2u) << "there and back; the rebuilt kernel is not among them";
  EXPECT_EQ(flips[0][0], flipping);
  EXPECT_EQ(flips[1][4], id(4));
  EXPECT_THAT(example("06-error-trend.sql").at(0),
              ElementsAre("2026-01-06", "bf16", "3", "0.8", "3.9", "60.0"));
  EXPECT_EQ(example("07-widest-specs.sql").at(0).at(2), "2.5");
  EXPECT_THAT(example("08-coverage-gaps.sql"),
              ElementsAre(ElementsAre("cpu/split_kv", "bf16", "causal_bottom_right"),
                          ElementsAre("cpu/split_kv", "bf16", "none"),
                          ElementsAre("cpu/split_kv", "fp32", "none")));
  EXPECT_THAT(example("09-diffs-with-other-bits.sql"),
              ElementsAre(ElementsAre("2026-01-06T00:00:00Z", "stories", "prefill vs decode",
                                      "pass", "2", "4", "0.9", "0.125", "4.5", "0.0")));
  EXPECT_EQ(example("10-runs-of-a-machine-class.sql").size(), 5u);
  EXPECT_EQ(example("11-largest-heads.sql").at(0).at(3), "1");
  EXPECT_THAT(
      example("12-heads-of-a-diff.sql"),
      ElementsAre(ElementsAre("stories", "prefill vs decode", "0", "1", "1.0e-05", "0.125"),
                  ElementsAre("stories", "prefill vs decode", "0", "3", "1.0e-06", "0.0625")));
  EXPECT_THAT(example("13-resources-that-grew.sql"),
              ElementsAre(ElementsAre("cpu/split_kv", "x86-64-v3", "flash 64x64", "build-2", "66",
                                      "182", "NULL", "NULL", "NULL", "NULL")));
  EXPECT_THAT(example("14-accepted-by-whom.sql").at(0), testing::Contains("Ada"));
  EXPECT_THAT(example("15-compiled-resources-that-grew.sql"),
              ElementsAre(ElementsAre("prefill<64>", "two stages", "sm_90a", "2026-01-06T00:00:00Z",
                                      testing::_, "nvcc 13.0.88", "168", "168", "0", "24", "41984",
                                      "41984", "0.1875", "0.1875", "regressed")));
}

// Questions about nights.
TEST_F(Query, ExampleResultsForNights) {
  const std::string epyc = "cpu x86-64-v3 EPYC", last = "c0001c20";
  EXPECT_THAT(example("19-lost-accuracy.sql"),
              ElementsAre(ElementsAre("cpu/split_kv", "fp16", "1", "1", "0.8", "0.9", "1.125",
                                      "cpu/split_kv/fp16/b1-h4-s128-d64")));
  EXPECT_THAT(example("20-flaky.sql"), ElementsAre(ElementsAre("cpu/flash/bf16/b1-h4-s128-d128", "",
                                                               epyc, "5", "1", "0", "2")));
  const auto slower = example("21-when-slower.sql").at(0);
  EXPECT_EQ(slower[0], "cpu/flash/bf16/b1-h4-s128-d64");
  EXPECT_EQ(slower[4], "c0001680") << "the first night that has three before it";
  const auto differs = example("22-two-commits.sql");
  ASSERT_EQ(differs.size(), 1u);
  EXPECT_THAT(differs[0], ElementsAre("cpu/flash/fp16/b1-h4-s128-d64", "", epyc, "c0001680", last,
                                      "pass", "pass", "1", "1.0", "1.0"));
  EXPECT_THAT(example("23-across-machines.sql").at(0),
              ElementsAre("cpu/flash", "bf16", epyc, "3", "1", "0", testing::_, "60.0", "1", "1.5",
                          "NULL", "NULL"));
  EXPECT_THAT(example("24-achieved.sql").at(0),
              AllOf(testing::Contains(epyc), testing::Contains("1.5")));
  EXPECT_THAT(example("25-alerts-of-the-night.sql"),
              ElementsAre(ElementsAre("fail", HasSubstr("causal_bottom_right"), "", epyc, "NULL",
                                      "", "NULL", "2.0", "60.0", "NULL")));
}

TEST_F(Query, InvariancesHavePromiseAndAgreement) {
  EXPECT_THAT(
      rows("SELECT invariance, promise, agreement, verdict, statistic, row_index, column_index, "
           "sigmas FROM v_invariances ORDER BY 1"),
      ElementsAre(
          ElementsAre("neighbour", "bitwise", "rounding", "fail", "lse", "3", "NULL", "2.5"),
          ElementsAre("solo", "bitwise", "bitwise", "pass", "NULL", "NULL", "NULL", "NULL")));
  EXPECT_THAT(
      example("16-broken-invariances.sql"),
      ElementsAre(ElementsAre("cpu/flash", "cpu", "neighbour", "bitwise", "1", "1", "2.5", "4.0")));
  const auto stored = value_of(store_->invariances(id(5)));
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].outcome.case_id, broken_invariance().outcome.case_id);
  EXPECT_EQ(stored[0].outcome.element, broken_invariance().outcome.element);
  EXPECT_EQ(stored[0].outcome.problem_b, "beside samples of NaN");
  EXPECT_EQ(stored[0].judgement.findings.at(0).text,
            broken_invariance().judgement.findings.at(0).text);
  StoredInvariance stranger = broken_invariance();
  stranger.outcome.case_id = "cpu/flash/bf16/b1-h1-s1-d64";
  EXPECT_THAT(error_of(store_->add_invariances(id(5), {stranger})), HasSubstr("FOREIGN KEY"))
      << "its case has no outcome";
  EXPECT_THAT(error_of(store_->add_invariances("nobody", {})), HasSubstr("is not in the database"));
}

TEST_F(Query, ResourcesHaveNullIfUnknown) {
  EXPECT_THAT(rows("SELECT shared_bytes, tensor_cores, predicted_registers, "
                   "predicted_shared_bytes, limited_by FROM v_resources LIMIT 1"),
              ElementsAre(ElementsAre("41984", "1", "64.0", "40960", "registers")));
  JudgedResources missing;
  missing.source = "gone.cu";
  missing.verdict = ResourceVerdict::missing;
  value_of(store_->add_resources(id(5), {missing}));
  EXPECT_THAT(rows("SELECT verdict, registers, spill_bytes, shared_bytes, threads, occupancy, "
                   "predicted_registers FROM v_resources WHERE source "
                   "= 'gone.cu'"),
              ElementsAre(ElementsAre("missing", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL")));
  EXPECT_THAT(error_of(store_->add_resources("nobody", {missing})),
              HasSubstr("is not in the database"));
}

TEST_F(Query, ExamplesStartWithQuestion) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(PLUMBLINE_BASELINES) / "queries")) {
    const std::string sql = read_file(entry.path());
    EXPECT_TRUE(sql.starts_with("-- ")) << entry.path();
    EXPECT_THAT(rows(sql), Not(IsEmpty())) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST_F(Query, ExamplesRunOnAnEmptyDatabase) {
  path_ = directory_ / "empty.db";
  const auto empty = open();
  for (const auto& entry : fs::directory_iterator(fs::path(PLUMBLINE_BASELINES) / "queries")) {
    EXPECT_THAT(value_of(empty->query(read_file(entry.path()))).rows, IsEmpty()) << entry.path();
  }
}

// Sections of README.md by their "### " heading's first word.
std::map<std::string, std::string> readme_sections() {
  std::map<std::string, std::string> sections;
  std::istringstream readme(read_file(fs::path(PLUMBLINE_BASELINES) / "README.md"));
  std::string line, heading;
  while (std::getline(readme, line)) {
    if (line.starts_with("## ")) heading.clear();
    if (line.starts_with("### ")) {
      heading = line.substr(4, line.find_first_of(": ", 4) - 4);
      continue;
    }
    if (!heading.empty()) sections[heading] += line + "\n";
  }
  return sections;
}

TEST_F(Query, ReadmeNamesEveryExample) {
  std::istringstream readme(read_file(fs::path(PLUMBLINE_BASELINES) / "README.md"));
  std::set<std::string> named, files;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("- `")) named.insert(line.substr(3, line.find('`', 3) - 3));
  }
  for (const auto& entry : fs::directory_iterator(fs::path(PLUMBLINE_BASELINES) / "queries"))
    files.insert(entry.path().stem());
  EXPECT_EQ(named, files);
}

// Words in backticks in the tables of a section.
std::set<std::string> documented_columns(const std::string& section) {
  std::set<std::string> names;
  std::istringstream lines(section);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
      const std::size_t end = cell.find('`', at + 1);
      names.insert(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return names;
}

TEST_F(Query, ReadmeDocumentsViewColumns) {
  const auto sections = readme_sections();
  for (const auto& view : raw_sql(path_, "SELECT name FROM sqlite_schema WHERE type = 'view'")) {
    std::set<std::string> columns;
    for (const auto& column :
         raw_sql(path_, "SELECT name FROM pragma_table_info('" + view[0] + "')"))
      columns.insert(column[0]);
    ASSERT_TRUE(sections.contains(view[0])) << view[0] << " has no section";
    const std::string& section = sections.at(view[0] == "v_latest" ? "v_history" : view[0]);
    EXPECT_EQ(documented_columns(section), columns) << view[0];
  }
}

}  // namespace
}  // namespace plumbline
