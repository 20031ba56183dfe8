// Every field that is stored is loaded. The structured bindings below name all fields: a new field
// does not compile here until it is compared, and differs until it is stored.
#include <sqlite3.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "harness/judge/judge.h"
#include "harness/store/stored.h"
#include "tests/store/arbitrary.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

auto fields(const ErrorStatistics& e) {
  const auto& [elements, peak, beyond, rms, bound, max_abs, max_rel, mean_abs, max_ulp, has_lse,
               lse_z, lse_max_abs, has_max_logit, max_logit_z, max_logit_max_abs, has_elsewhere,
               elsewhere, has_suite, shrink, temperature, outside_3, outside_2] = e;
  return std::tuple(elements, peak, beyond, rms, bound, max_abs, max_rel, mean_abs, max_ulp,
                    has_lse, lse_z, lse_max_abs, has_max_logit, max_logit_z, max_logit_max_abs,
                    has_elsewhere, elsewhere, has_suite, shrink, temperature, outside_3, outside_2);
}
auto fields(const Faults& f) {
  const auto& [nans, infs, unwritten, out_of_range, padded_rows, empty_rows, inexact, fence_bytes,
               detail] = f;
  return std::tuple(nans, infs, unwritten, out_of_range, padded_rows, empty_rows, inexact,
                    fence_bytes, detail);
}
auto fields(const WorstElement& w) {
  const auto& [element, got, expected, sigma, ulp_there, share, visible_keys] = w;
  const auto& [sample, head, row, column] = element;
  return std::tuple(sample, head, row, column, got, expected, sigma, ulp_there, share,
                    visible_keys);
}
auto fields(const Location& location) {
  [[maybe_unused]] const auto& [kind, description, z, text, share] = location;
  return std::tuple(kind, description, z);
}
auto fields(const Description& d) {
  const auto& [launched, build_id, tensor_cores, padding_policy, spec, promises, registers, spills,
               shared, stack, device_arch] = d;
  return std::tuple(launched, build_id, tensor_cores, padding_policy, spec, promises, registers,
                    spills, shared, stack, device_arch);
}
auto fields(const Finding& finding) {
  const auto& [statistic, value, limit, text] = finding;
  return std::tuple(statistic, value, limit, text);
}

void expect_equal(const Judgement& loaded, const Judgement& stored) {
  // Changes are stored with the run; terms, times and confirmation only for cases (below).
  const auto& [verdict, findings, percent, nearest, notes, changes, terms, times, gated_time,
               confirmation] = loaded;
  EXPECT_EQ(
      std::tie(verdict, percent, nearest, notes),
      std::tie(stored.verdict, stored.percent_of_limit, stored.nearest_statistic, stored.notes));
  ASSERT_EQ(findings.size(), stored.findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i)
    EXPECT_EQ(fields(findings[i]), fields(stored.findings[i]));
}

void expect_equal(const StoredOutcome& loaded, const StoredOutcome& stored) {
  const auto& [suite, group, tier, c, id, provider_options, problem_digest, description, device,
               workspace_bytes, output_digest, repeat_checked, repeat_equal, calls, call_difference,
               timed, time_ns, time_hot_ns, time_mad_ns, time_ratio, times, peak_memory_bytes,
               wall_ms, saved_to, reused_from, expected] =
      static_cast<const CaseRun&>(loaded.outcome);
  const auto& [status, reason, errors, faults, worst, worst_statistic, location, cause, looser_rung,
               head_rms, picture, reference_rows, rows_total, row_seed, widening, spec_judged] =
      static_cast<const ComparedOutput&>(loaded.outcome);
  const Outcome& o = stored.outcome;
  EXPECT_EQ(std::tie(suite, group, tier, id, provider_options, problem_digest, status, reason),
            std::tie(o.suite, o.group, o.tier, o.case_id, o.provider_options, o.problem_digest,
                     o.status, o.reason));
  EXPECT_EQ(c, (Case{o.c.kernel, o.c.device, canonical(o.c.problem)}));
  EXPECT_EQ(fields(description), fields(o.description));
  EXPECT_EQ(device, o.device);
  EXPECT_EQ(workspace_bytes, o.workspace_bytes);
  EXPECT_EQ(fields(errors), fields(o.errors));
  EXPECT_EQ(fields(faults), fields(o.faults));
  ASSERT_EQ(worst.has_value(), o.worst.has_value());
  if (worst) {
    EXPECT_EQ(fields(*worst), fields(*o.worst));
  }
  EXPECT_EQ(worst_statistic, o.worst_statistic);
  EXPECT_EQ(fields(location), fields(o.location));
  EXPECT_EQ(std::tie(cause, looser_rung), std::tie(o.cause, o.looser_rung));
  EXPECT_EQ(head_rms, o.head_rms);
  EXPECT_EQ(picture, o.picture);
  EXPECT_EQ(row_seed, o.row_seed);
  EXPECT_EQ(std::tie(reference_rows, rows_total, widening, spec_judged, output_digest,
                     repeat_checked, repeat_equal, calls, call_difference),
            std::tie(o.reference_rows, o.rows_total, o.widening, o.spec_judged, o.output_digest,
                     o.repeat_checked, o.repeat_equal, o.calls, o.call_difference));
  EXPECT_EQ(std::tie(timed, time_ns, time_hot_ns, time_mad_ns, time_ratio, peak_memory_bytes,
                     wall_ms, saved_to, reused_from),
            std::tie(o.timed, o.time_ns, o.time_hot_ns, o.time_mad_ns, o.time_ratio,
                     o.peak_memory_bytes, o.wall_ms, o.saved_to, o.reused_from));
  EXPECT_EQ(times, o.times);
  EXPECT_EQ(expected, o.expected);
  expect_equal(loaded.judgement, stored.judgement);
  const Judgement &judged = loaded.judgement, &before = stored.judgement;
  EXPECT_EQ(std::tie(judged.time_against_past, judged.confirmation, judged.gated_time),
            std::tie(before.time_against_past, before.confirmation, before.gated_time));
  ASSERT_EQ(judged.terms.has_value(), before.terms.has_value());
  if (judged.terms) {
    const auto& [limits, padding_policy, promises] = *judged.terms;
    [[maybe_unused]] const auto& [peak, beyond_output, rms, lse, max_logit, suite_limit,
                                  suite_judged, elsewhere] = limits;
    const ContractSnapshot& t = *before.terms;
    EXPECT_EQ(std::tie(peak, beyond_output, rms, lse, elsewhere, padding_policy, promises),
              std::tie(t.limits.peak, t.limits.beyond_output, t.limits.rms, t.limits.lse,
                       t.limits.elsewhere, t.padding_policy, t.promises));
    EXPECT_EQ(max_logit, o.errors.has_max_logit ? t.limits.max_logit : Limits{}.max_logit);
  }
}

void expect_equal(const StoredDiff& loaded, const StoredDiff& stored) {
  const auto& [suite, name, tier, expect, case_a, case_b, status, reason, rows, elements, max_abs,
               mean_abs, max_rel, mean_rel, max_sigma, max_ulp, max_rel_expected, rms_output,
               max_abs_element, max_rel_element, bit_equal_share, heads, heads_bit_equal, per_head,
               rms_a, rms_b, time_ns_a, time_ns_b] = loaded.outcome;
  const DiffOutcome& d = stored.outcome;
  EXPECT_EQ(std::tie(suite, name, tier, expect, case_a, case_b, status, reason),
            std::tie(d.suite, d.name, d.tier, d.expect, d.case_a, d.case_b, d.status, d.reason));
  EXPECT_EQ(std::tie(rows, elements, max_abs, mean_abs, max_rel, mean_rel, max_sigma, max_ulp,
                     max_rel_expected, rms_output),
            std::tie(d.rows, d.elements, d.max_abs, d.mean_abs, d.max_rel, d.mean_rel, d.max_sigma,
                     d.max_ulp, d.max_rel_expected, d.rms_output));
  EXPECT_EQ(max_abs_element, d.max_abs_element);
  EXPECT_EQ(max_rel_element, d.max_rel_element);
  EXPECT_EQ(std::tie(bit_equal_share, heads, heads_bit_equal, rms_a, rms_b, time_ns_a, time_ns_b),
            std::tie(d.bit_equal_share, d.heads, d.heads_bit_equal, d.rms_a, d.rms_b, d.time_ns_a,
                     d.time_ns_b));
  ASSERT_EQ(per_head.size(), d.per_head.size());
  for (std::size_t i = 0; i < per_head.size(); ++i) {
    const auto& [sample, head, head_mean_abs, head_max_abs, bit_equal] = per_head[i];
    const DiffHead& h = d.per_head[i];
    EXPECT_EQ(std::tie(sample, head, head_mean_abs, head_max_abs, bit_equal),
              std::tie(h.sample, h.head, h.mean_abs, h.max_abs, h.bit_equal));
  }
  expect_equal(loaded.judgement, stored.judgement);
}

class RoundTrip : public StoreTest {};

TEST_F(RoundTrip, EveryFieldOfAnOutcome) {
  Arbitrary arbitrary(1);
  std::vector<StoredOutcome> stored;
  for (int i = 0; i < 500; ++i) stored.push_back(arbitrary.outcome(i));
  store_run(*open(), run_info(1), stored);

  const auto loaded = value_of(open(true)->outcomes(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(loaded[i], stored[i]);
  }
}

TEST_F(RoundTrip, EveryFieldOfADiff) {
  Arbitrary arbitrary(2);
  std::vector<StoredDiff> stored;
  for (int i = 0; i < 200; ++i) stored.push_back(arbitrary.diff(i));
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  for (const StoredDiff& diff : stored) value_of(store->add(run_info(1).run_id, diff));

  const auto loaded = value_of(store->diffs(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(loaded[i], stored[i]);
  }
}

TEST_F(RoundTrip, EveryFieldOfRunAndMachine) {
  RunInfo stored = run_info(3);
  stored.machine = {"cuda", "sm_90", "NVIDIA H200", std::int64_t{139} << 30, "locked 1755 MHz"};
  stored.shard = "2/3";
  stored.purpose = "nightly";
  stored.selection = "tier=nightly";
  stored.night_id = "2026-11-22";
  stored.planned_cases = 374;
  stored.clock_behind_s = 90;
  value_of(open()->begin_run(stored));
  const auto runs = value_of(open()->runs(10));
  ASSERT_EQ(runs.size(), 1u);
  const auto& [run_id, started_at, machine, commit, host, compiler, flags, versions_json,
               command_line, shard, purpose, night_id, selection, planned_cases, clock_behind_s] =
      runs[0];
  EXPECT_EQ(std::tie(run_id, started_at, commit, host, compiler, flags, versions_json, command_line,
                     shard, purpose, selection, night_id, planned_cases, clock_behind_s),
            std::tie(stored.run_id, stored.started_at, stored.commit, stored.host, stored.compiler,
                     stored.flags, stored.versions_json, stored.command_line, stored.shard,
                     stored.purpose, stored.selection, stored.night_id, stored.planned_cases,
                     stored.clock_behind_s));
  const auto& [device_kind, arch, model, memory_bytes, clock_policy] = machine;
  EXPECT_EQ(std::tie(device_kind, arch, model, memory_bytes, clock_policy),
            std::tie(stored.machine.device_kind, stored.machine.arch, stored.machine.model,
                     stored.machine.memory_bytes, stored.machine.clock_policy));
}

TEST_F(RoundTrip, RunIsIncompleteUntilFinished) {
  const auto store = open();
  for (int i = 1; i <= 3; ++i) value_of(store->begin_run(run_info(i)));
  value_of(store->finish_run(run_info(2).run_id, 0, false));
  value_of(store->finish_run(run_info(3).run_id, 0, true));
  for (int i = 1; i <= 3; ++i) {
    const StoredRun run = value_of(store->run(run_info(i).run_id));
    EXPECT_EQ(run.info.run_id, run_info(i).run_id);
    EXPECT_EQ(run.finished, i >= 2) << i;
    EXPECT_EQ(run.complete, i == 3) << i;
  }
  EXPECT_THAT(to_string(store->run("no-such-run").error()),
              HasSubstr("there is no run no-such-run"));
}

TEST_F(RoundTrip, NewestSuiteScoreWins) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  const SuiteScore first{"smoke", "cpu/flash", "bf16", "shrink", 40, 1.25, 3.5, "pass"};
  const SuiteScore again{"smoke", "cpu/flash", "bf16", "shrink", 41, -4.5, 3.5, "fail"};
  const SuiteScore other{"smoke", "cpu/flash", "bf16", "temperature",
                         40,      0.5,         3.5,    "not judged: partial suite"};
  value_of(store->add_suite_scores(run_info(1).run_id, {first, other}));
  value_of(store->add_suite_scores(run_info(1).run_id, {again}));
  const auto loaded = value_of(store->suite_scores(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), 2u);
  const auto& [suite, kernel, dtype, statistic, cases, value, limit, status] = loaded[0];
  EXPECT_EQ(std::tie(suite, kernel, dtype, statistic, cases, value, limit, status),
            std::tie(again.suite, again.kernel, again.dtype, again.statistic, again.cases,
                     again.value, again.limit, again.status));
  EXPECT_EQ(loaded[1].status, other.status);
}

TEST_F(RoundTrip, NanStatisticIsInfinite) {
  StoredOutcome stored = passing();
  ErrorStatistics& e = stored.outcome.errors;
  e.has_lse = e.has_elsewhere = e.has_suite_scores = true;
  for (double* value : {&e.peak, &e.beyond_output, &e.rms, &e.bound, &e.max_abs, &e.max_rel,
                        &e.mean_abs, &e.max_ulp, &e.outside_allclose_1e3, &e.outside_allclose_1e2,
                        &e.lse_z, &e.lse_max_abs, &e.elsewhere, &e.shrink_z, &e.temperature_z}) {
    *value = nan;
  }
  stored.outcome.faults.nan = 7;
  stored.outcome.worst = WorstElement{};
  stored.outcome.worst->got = nan;
  stored.outcome.worst->sigma = nan;
  stored.outcome.time_ratio = nan;
  stored.outcome.head_rms = {0.5f, std::numeric_limits<float>::quiet_NaN(), 99.0f, 1.0f};
  stored.judgement.percent_of_limit = nan;
  stored.judgement.findings = {{FindingKind::nan, nan, infinity, "7 elements"}};
  store_run(*open(), run_info(1), {stored});

  const auto loaded = value_of(open()->outcomes(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), 1u);
  const Outcome& o = loaded[0].outcome;
  for (double value :
       {o.errors.peak, o.errors.beyond_output, o.errors.rms, o.errors.bound, o.errors.max_abs,
        o.errors.max_rel, o.errors.mean_abs, o.errors.max_ulp, o.errors.outside_allclose_1e3,
        o.errors.outside_allclose_1e2, o.errors.lse_z, o.errors.lse_max_abs, o.errors.elsewhere,
        o.errors.shrink_z, o.errors.temperature_z, o.worst->sigma, o.time_ratio,
        loaded[0].judgement.percent_of_limit}) {
    EXPECT_EQ(value, infinity);
  }
  EXPECT_TRUE(std::isnan(o.worst->got)) << "what the kernel wrote is a fact";
  EXPECT_TRUE(std::isnan(o.head_rms[1]));
  EXPECT_TRUE(std::isnan(loaded[0].judgement.findings[0].value));
  EXPECT_EQ(loaded[0].judgement.findings[0].limit, infinity);
  EXPECT_EQ(o.faults.nan, 7);
  EXPECT_THAT(raw_sql(path_,
                      "SELECT peak, faults_total, head_rms_max, head_rms_max_sample, "
                      "head_rms_max_head FROM v_history"),
              ElementsAre(ElementsAre("Inf", "7", "Inf", "0", "1")));
}

TEST_F(RoundTrip, UnmeasuredIsNull) {
  StoredOutcome untimed = passing();
  untimed.outcome.timed = false;
  untimed.outcome.head_rms.clear();
  store_run(*open(), run_info(1),
            {untimed, not_run(Status::crashed, Verdict::crashed, "signal 11")});
  EXPECT_THAT(
      raw_sql(path_,
              "SELECT status, peak, elements, lse_z, worst_got, time_ratio, head_rms_max, "
              "registers_per_thread, faults_total "
              "FROM v_history ORDER BY status"),
      ElementsAre(
          ElementsAre("crashed", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "0"),
          ElementsAre("ok", "3.9", "32768", "NULL", "NULL", "NULL", "NULL", "NULL", "0")));
}

TEST_F(RoundTrip, LargestHeadHasSampleAndHead) {
  StoredOutcome stored = passing("bf16/b2-h4-s128-d64");
  stored.outcome.head_rms = {1, 1, 1, 1, 1, 1, 2.5f, 1};  // [2 samples, 4 heads]
  store_run(*open(), run_info(1), {stored});
  EXPECT_THAT(
      raw_sql(path_, "SELECT head_rms_max, head_rms_max_sample, head_rms_max_head FROM v_history"),
      ElementsAre(ElementsAre("2.5", "1", "2")));
}

TEST_F(RoundTrip, ArchOfEmulatorKernelOrMachine) {
  StoredOutcome emulated = passing();
  emulated.outcome.c.device = "emulated:sm_90";
  emulated.outcome.case_id = case_id(emulated.outcome.c);
  StoredOutcome on_gpu = passing();
  on_gpu.outcome.c.device = "cuda:0";
  on_gpu.outcome.case_id = case_id(on_gpu.outcome.c);
  on_gpu.outcome.description.device_arch = "sm_80";
  store_run(*open(), run_info(1), {passing(), on_gpu, emulated});
  EXPECT_THAT(raw_sql(path_, "SELECT device, arch FROM v_history ORDER BY device"),
              ElementsAre(ElementsAre("cpu", "x86-64-v3"), ElementsAre("cuda:0", "sm_80"),
                          ElementsAre("emulated:sm_90", "sm_90")));
}

TEST_F(RoundTrip, SameCaseAndSuiteIsReplaced) {
  StoredOutcome second = with_verdict(passing(), Verdict::fail);
  second.outcome.errors.peak = 99;
  StoredOutcome other_suite = passing();
  other_suite.outcome.suite = "pr";
  store_run(*open(), run_info(1), {passing(), second, other_suite});
  const auto loaded = value_of(open()->outcomes(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), 2u);
  expect_equal(loaded[0], second);
  expect_equal(loaded[1], other_suite);
}

TEST_F(RoundTrip, UpdateJudgementReplacesOneCase) {
  const auto store = open();
  store_run(*store, run_info(1), {passing(), passing("fp16/b1-h4-s128-d64")});
  Judgement judgement;
  judgement.verdict = Verdict::regressed;
  judgement.findings = {{FindingKind::drift, 1.9, 1.5, "rms rose"}};
  judgement.notes = {"judged again"};
  value_of(
      store->update_judgement(run_info(1).run_id, "smoke", passing().outcome.case_id, judgement));
  const auto loaded = value_of(store->outcomes(run_info(1).run_id));
  expect_equal(loaded[0].judgement, judgement);
  EXPECT_EQ(loaded[1].judgement.verdict, Verdict::pass);
  EXPECT_THAT(
      error_of(store->update_judgement(run_info(1).run_id, "smoke", "no/such/case", judgement)),
      HasSubstr("no/such/case"));
}

TEST_F(RoundTrip, InvalidIdIsRefused) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  const std::string run_id = run_info(1).run_id;
  StoredOutcome odd = passing();
  odd.outcome.case_id = "cpu/'; DROP TABLE outcome; --\n\t\"%s\" σ/bf16";
  value_of(store->add(run_id, odd));
  EXPECT_EQ(value_of(store->outcomes(run_id)).at(0).outcome.case_id, odd.outcome.case_id);

  for (const std::string& bad : {std::string("cpu/\xff/bf16"), std::string("cpu/\0/bf16", 10),
                                 std::string("cpu/\xed\xa0\x80"), std::string()}) {
    StoredOutcome refused = passing();
    refused.outcome.case_id = bad;
    EXPECT_THAT(error_of(store->add(run_id, refused)), HasSubstr("case id"));
  }
  RunInfo bad_run = run_info(2);
  bad_run.run_id = "\xc0\x80";
  EXPECT_THAT(error_of(store->begin_run(bad_run)), HasSubstr("run id '\\xc0\\x80' is not UTF-8"));
  EXPECT_EQ(value_of(store->outcomes(run_id)).size(), 1u) << "what is refused leaves no trace";
}

TEST_F(RoundTrip, InvalidTextIsRepaired) {
  StoredOutcome stored =
      not_run(Status::crashed, Verdict::crashed, std::string("log: \xff\xfe\0 core dumped", 20));
  stored.judgement.notes = {"\x80"};
  store_run(*open(), run_info(1), {stored});
  const auto loaded = value_of(open()->outcomes(run_info(1).run_id));
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].outcome.reason, "log: \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD core dumped");
  EXPECT_THAT(loaded[0].judgement.notes, ElementsAre("\xEF\xBF\xBD"));
}

TEST_F(RoundTrip, UnreadableSpecIsRefused) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  StoredOutcome stored = passing();
  stored.outcome.description.spec.exp2_rel_error = nan;
  EXPECT_THAT(error_of(store->add(run_info(1).run_id, stored)),
              HasSubstr("rounding spec that cannot be read back"));
}

TEST_F(RoundTrip, ResolvesRunByLatestOrPrefix) {
  const auto store = open();
  for (int i : {1, 3, 2}) value_of(store->begin_run(run_info(i)));
  EXPECT_EQ(value_of(store->resolve_run("latest")), run_info(3).run_id)
      << "the newest, not the last stored";
  EXPECT_EQ(value_of(store->resolve_run("latest~2")), run_info(1).run_id);
  EXPECT_EQ(value_of(store->resolve_run("00000002")), run_info(2).run_id);
  EXPECT_EQ(value_of(store->resolve_run(run_info(2).run_id)), run_info(2).run_id);
  EXPECT_THAT(error_of(store->resolve_run("latest~3")), HasSubstr("further than the 3 runs"));
  EXPECT_THAT(error_of(store->resolve_run("0000000")), HasSubstr(run_info(1).run_id));
  for (const char* nothing : {"", "latest~", "latest~x", "latest~-1", "latestx", "f00", "%", "'"}) {
    EXPECT_NE(error_of(store->resolve_run(nothing)), "no error") << nothing;
  }
}

TEST_F(RoundTrip, RunsInOneSecondKeepOrder) {
  const auto store = open();
  RunInfo a = run_info(1), b = run_info(1), c = run_info(1);
  a.run_id = "ffff", b.run_id = "aaaa", c.run_id = "0000";
  c.started_at = "2026-01-01T00:01:00.5Z";  // half a second later, although 'Z' sorts after '.'
  for (const RunInfo& run : {c, a, b}) value_of(store->begin_run(run));
  EXPECT_EQ(value_of(store->resolve_run("latest")), "0000");
  EXPECT_EQ(value_of(store->resolve_run("latest~1")), "aaaa");
  EXPECT_EQ(value_of(store->resolve_run("latest~2")), "ffff");
}

TEST_F(RoundTrip, UnknownRunIsAnError) {
  const auto store = open();
  const StoredOutcome outcome = passing();
  EXPECT_THAT(error_of(store->add("nobody", outcome)), HasSubstr("'nobody' was not begun"));
  EXPECT_THAT(error_of(store->finish_run("nobody", 0, true)), HasSubstr("nobody"));
  EXPECT_THAT(error_of(store->outcomes("nobody")), HasSubstr("nobody"));
  EXPECT_THAT(error_of(store->diffs("nobody")), HasSubstr("nobody"));
  EXPECT_THAT(error_of(store->suite_scores("nobody")), HasSubstr("nobody"));
  EXPECT_THAT(error_of(store->add_suite_scores("nobody", {})), HasSubstr("nobody"));
  EXPECT_THAT(error_of(store->baseline({"case", machine_of()}, "nobody")), HasSubstr("nobody"));
  value_of(store->begin_run(run_info(1)));
  EXPECT_THAT(error_of(store->begin_run(run_info(1))), HasSubstr("was begun before"));
  RunInfo yesterday = run_info(2);
  yesterday.started_at = "yesterday";
  yesterday.versions_json = "{";
  EXPECT_THAT(error_of(store->begin_run(yesterday)),
              testing::AllOf(HasSubstr("'yesterday'"), HasSubstr("versions_json")));
}

TEST_F(RoundTrip, FlushesEveryThousandRows) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  const auto stored_rows = [&] { return raw_sql(path_, "SELECT count(*) FROM outcome")[0][0]; };
  StoredOutcome outcome = passing();
  for (int i = 0; i < 999; ++i) {
    outcome.outcome.suite = std::to_string(i);
    value_of(store->add(run_info(1).run_id, outcome));
  }
  EXPECT_EQ(stored_rows(), "0");
  outcome.outcome.suite = "the thousandth";
  value_of(store->add(run_info(1).run_id, outcome));
  EXPECT_EQ(stored_rows(), "1000");
  outcome.outcome.suite = "one more";
  value_of(store->add(run_info(1).run_id, outcome));
  value_of(store->flush());
  EXPECT_EQ(stored_rows(), "1001");
}

TEST_F(RoundTrip, DestructorFlushes) {
  auto store = open();
  value_of(store->begin_run(run_info(1)));
  value_of(store->add(run_info(1).run_id, passing()));
  store.reset();
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM outcome")[0][0], "1");
}

TEST_F(RoundTrip, TwentyThousandOutcomes) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  Arbitrary arbitrary(3);
  StoredOutcome outcome = passing();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000; ++i) {
    outcome.outcome.c.problem.seed = static_cast<std::uint64_t>(i);
    outcome.outcome.case_id = case_id(outcome.outcome.c);
    ASSERT_TRUE(store->add(run_info(1).run_id, outcome));
  }
  value_of(store->finish_run(run_info(1).run_id, 0, true));
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds_for_20000_outcomes", static_cast<int>(spent.count()));
  RecordProperty("bytes_per_outcome", static_cast<int>(std::filesystem::file_size(path_) / 20'000));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM v_latest")[0][0], "20000");
}

}  // namespace
}  // namespace plumbline
