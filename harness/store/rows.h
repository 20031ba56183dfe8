// The columns of baselines/schema.sql by table, in the order in which statements list them.
// `Columns` is ColumnNames, Binder or Loader (columns.h); a row is const except for Loader.
#pragma once

#include <limits>
#include <string>
#include <type_traits>

#include "harness/judge/judgement.h"
#include "harness/outcome/faults.h"
#include "harness/outcome/statistics_table.h"
#include "harness/problem/problem_fields.h"
#include "harness/store/columns.h"
#include "harness/store/json_text.h"
#include "harness/store/store.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {

template <class Columns, class Row>
void machine_columns(Columns& columns, Row& machine) {
  columns("device_kind", machine.device_kind);
  columns("machine_arch", machine.arch);
  columns("model", machine.model);
  columns("memory_bytes", machine.memory_bytes);
  columns("clock_policy", machine.clock_policy);
}

template <class Columns, class Row>
void run_columns(Columns& columns, Row& run) {
  columns("run_id", run.run_id);
  columns("started_at", run.started_at);
  columns("code_commit", run.commit);
  columns("host", run.host);
  columns("compiler", run.compiler);
  columns("flags", run.flags);
  columns("versions_json", run.versions_json);
  columns("command_line", run.command_line);
  columns("shard", run.shard);
  columns("purpose", run.purpose);
  columns("selection", run.selection);
  columns("night_id", run.night_id);
  columns("planned_cases", run.planned_cases);
  columns("clock_behind_s", run.clock_behind_s);
}

template <class Columns, class Row>
void case_columns(Columns& columns, Row& c) {
  columns("kernel", c.kernel);
  columns("device", c.device);
  // Stores resolved dtypes, so that SQL need not know the default. Loads the canonical form.
  Problem p = c.problem;
  p.kv_dtype = p.kv();
  p.out_dtype = p.out();
  for_each_member([&](const auto& field) { columns(field.key.data(), p.*field.member); });
  if constexpr (Columns::loading) c.problem = canonical(p);
}

template <class Columns, class Row>
void description_columns(Columns& columns, Row& description) {
  columns("tensor_cores", description.tensor_cores);
  columns("padding_policy", description.padding_policy);
  auto& promises = description.promises;
  columns("promise_run_to_run", promises.run_to_run);
  columns("promise_batch", promises.batch);
  columns("promise_layout", promises.layout);
  columns("promise_page", promises.page);
  columns("promise_split", promises.split);
  columns("promise_prefill_decode", promises.prefill_decode);
  columns("promise_lse", promises.lse);
  columns.unless_minus_one("registers_per_thread", description.registers_per_thread);
  columns.unless_minus_one("spill_bytes_per_thread", description.spill_bytes_per_thread);
  columns.unless_minus_one("shared_memory_bytes", description.shared_memory_bytes);
  columns.unless_minus_one("stack_bytes_per_thread", description.stack_bytes_per_thread);
  columns("device_arch", description.device_arch);
}

template <class Columns, class Row>
void device_columns(Columns& columns, Row& device) {
  columns("device_model", device.model);
  columns.measured(device.memory_bytes != 0);
  columns("device_memory_bytes", device.memory_bytes);
  columns.measured(true);
  columns("device_driver", device.driver);
  columns("device_runtime", device.runtime);
  columns("device_facts_arch", device.arch);
}

template <class Columns, class Row>
void error_columns(Columns& columns, Row& errors, Status status) {
  columns.measured(status == Status::ok);
  columns("elements", errors.elements);
  const auto values = [&](bool ErrorStatistics::*measured) {
    for (const Statistic& statistic : error_statistics)
      if (statistic.measured == measured && statistic.is_column())
        columns(statistic.column, errors.*statistic.value);
    columns.measured(true);
  };
  const auto values_if = [&](const char* column, bool ErrorStatistics::*measured) {
    columns(column, errors.*measured);
    columns.measured(errors.*measured);
    values(measured);
  };
  values(nullptr);
  values_if("has_lse", &ErrorStatistics::has_lse);
  values_if("has_elsewhere", &ErrorStatistics::has_elsewhere);
  values_if("has_suite_scores", &ErrorStatistics::has_suite_scores);
}

// Columns of table outcome_output, for row outputs beyond the LSE. `limit`: std::optional<double>.
template <class Columns, class Row, class Limit>
void output_columns(Columns& columns, Row& errors, Limit& limit, RowOutput output) {
  const RowStatistics& of = row_statistics[output];
  columns("z", errors.*of.z);
  columns("max_abs", errors.*of.max_abs);
  double value = limit.value_or(-1);
  columns.measured(limit.has_value());
  columns("limit_value", value);
  columns.measured(true);
  if constexpr (Columns::loading) {
    errors.*of.measured = true;
    if (value >= 0) limit = value;
  }
}

template <class Columns, class Row>
void fault_columns(Columns& columns, Row& faults) {
  for (const FaultKind& kind : fault_kinds) columns(kind.column, faults.*kind.count);
  columns("faults_detail", faults.detail);
}

// `worst`: std::optional<WorstElement>.
template <class Columns, class Row>
void worst_columns(Columns& columns, Row& worst) {
  static constexpr const char* share_columns[] = {
      "worst_share_p",     "worst_share_logit",        "worst_share_s",
      "worst_share_exp2",  "worst_share_accumulation", "worst_share_split_partials",
      "worst_share_output"};
  static_assert(std::size(share_columns) == rounding_count,
                "one column for each Rounding, in its order");
  bool has_worst = worst.has_value();
  columns("has_worst", has_worst);
  columns.measured(has_worst);
  WorstElement w = worst.value_or(WorstElement{});
  columns("worst_sample", w.element.sample);
  columns("worst_head", w.element.head);
  columns("worst_row", w.element.row);
  columns("worst_column", w.element.column);
  // NaN in `got` is a fact about the kernel, so it must survive; in statistics, NaN becomes +Inf.
  bool got_is_nan = std::isnan(w.got);
  columns("worst_got_is_nan", got_is_nan);
  columns("worst_got", w.got);
  columns("worst_expected", w.expected);
  columns("worst_sigma", w.sigma);
  columns("worst_ulp", w.ulp);
  for (std::size_t i = 0; i < std::size(share_columns); ++i) columns(share_columns[i], w.share[i]);
  columns("worst_visible_keys", w.visible_keys);
  columns.measured(true);
  if constexpr (Columns::loading) {
    if (got_is_nan) w.got = std::numeric_limits<double>::quiet_NaN();
    if (has_worst) worst = w;
  }
}

template <class Columns, class Row>
void judgement_columns(Columns& columns, Row& judgement) {
  columns("verdict", judgement.verdict);
  columns("percent_of_limit", judgement.percent_of_limit);
  columns("nearest_statistic", judgement.nearest_statistic);
  std::string findings = findings_text(judgement.findings), notes = notes_text(judgement.notes);
  columns("findings", findings);
  columns("notes", notes);
  if constexpr (Columns::loading) {
    judgement.findings = parse_findings(findings);
    judgement.notes = parse_notes(notes);
  }
}

// Columns that only judgements of cases have. `terms`: std::optional<ContractSnapshot>.
template <class Columns, class Row>
void terms_columns(Columns& columns, Row& terms) {
  const bool known = terms.has_value();
  ContractSnapshot t = terms.value_or(ContractSnapshot{});
  if constexpr (Columns::loading) t.limits.peak = -1;
  columns.measured(known);
  for (const Statistic& statistic : deciding_statistics)
    if (statistic.is_column()) columns(statistic.limit_column, t.limits.*statistic.limit);
  columns.measured(true);
  std::string policy(t.padding_policy ? name(*t.padding_policy) : ""),
      promises = promises_text(t.promises);
  columns("pinned_padding_policy", policy);
  columns("pinned_promises", promises);
  if constexpr (Columns::loading) {
    if (t.limits.peak < 0) return;  // NULL
    if (!policy.empty())
      t.padding_policy = parse_enumerator<PaddingPolicy>("pinned_padding_policy", policy);
    t.promises = parse_promises(promises);
    terms = t;
  }
}

template <class Columns, class Row>
void case_judgement_columns(Columns& columns, Row& judgement) {
  terms_columns(columns, judgement.terms);
  TimeAgainstPast times = judgement.time_against_past.value_or(TimeAgainstPast{-1, 0});
  columns.measured(judgement.time_against_past.has_value());
  columns("past_times", times.runs);
  columns("time_over_past", times.ratio);
  columns.measured(true);
  std::string confirmation(judgement.confirmation ? name(*judgement.confirmation) : "");
  columns("confirmation", confirmation);
  GatedTime gated = judgement.gated_time.value_or(GatedTime{});
  columns("gate_finding", gated.finding);
  columns.measured(judgement.gated_time.has_value());
  columns("gate_nights", gated.nights);
  columns("gate_pool", gated.pool);
  columns("gate_level", gated.level);
  columns("gate_spread", gated.spread);
  columns("gate_limit", gated.limit);
  columns("gate_change", gated.change);
  columns("gate_deviation", gated.deviation);
  columns.measured(true);
  if constexpr (Columns::loading) {
    if (times.runs >= 0) judgement.time_against_past = times;
    if (!confirmation.empty())
      judgement.confirmation = parse_enumerator<Confirmation>("confirmation", confirmation);
    if (!gated.finding.empty()) judgement.gated_time = gated;
  }
}

// `expected`: std::optional<ExpectedFailure>. "" in expected_issue means that there is none.
template <class Columns, class Row>
void expected_columns(Columns& columns, Row& expected) {
  ExpectedFailure e = expected.value_or(ExpectedFailure{});
  columns("expected_issue", e.issue);
  columns("expected_expires", e.expires);
  columns("expected_reason", e.reason);
  if constexpr (Columns::loading) {
    if (!e.issue.empty()) expected = e;
  }
}

template <class Columns, class Row>
void picture_columns(Columns& columns, Row& picture) {
  columns("error_histogram", picture.histogram);
  columns("spre_ratios", picture.spre_ratios);
  columns("error_map_rows", picture.map_rows);
  columns("error_map_columns", picture.map_columns);
  columns("error_map", picture.map);
}

// Stores 0 (not measured) as NULL.
template <class Columns, class Row>
void times_columns(Columns& columns, Row& times) {
  std::string rounds = rounds_text(times.rounds), fresh = numbers_text(times.fresh_ratios);
  columns("time_rounds", rounds);
  columns("fresh_ratios", fresh);
  if constexpr (Columns::loading) {
    times.rounds = parse_rounds(rounds);
    times.fresh_ratios = parse_numbers(fresh);
  }
  const auto unless_zero = [&](const char* column, auto& value) {
    columns.measured(value != 0);
    columns(column, value);
    columns.measured(true);
  };
  unless_zero("time_cpu_ns", times.cpu_ns);
  unless_zero("time_sentinel_ns", times.sentinel_ns);
  unless_zero("flops_per_second", times.flops_per_second);
  unless_zero("bytes_per_second", times.bytes_per_second);
  unless_zero("flops_share", times.flops_share);
  unless_zero("bytes_share", times.bytes_share);
  unless_zero("time_physics", times.physics);
  unless_zero("second_ratio", times.second_ratio);
}

// The columns of table outcome without its keys and versions (batch_writer.cc). Other tables hold
// the case, the build and the specs.
template <class Columns, class Row>
void outcome_columns(Columns& columns, Row& stored) {
  auto& o = stored.outcome;
  columns("suite", o.suite);
  columns("case_group", o.group);
  columns("tier", o.tier);
  columns("problem_digest", o.problem_digest);
  columns("provider_options", o.provider_options);
  columns("status", o.status);
  columns("reason", o.reason);
  description_columns(columns, o.description);
  device_columns(columns, o.device);
  columns("workspace_bytes", o.workspace_bytes);
  error_columns(columns, o.errors, o.status);
  fault_columns(columns, o.faults);
  columns("worst_statistic", o.worst_statistic);
  worst_columns(columns, o.worst);
  columns("location_kind", o.location.kind);
  columns("location_description", o.location.description);
  columns("location_z", o.location.z);
  columns("cause", o.cause);
  columns("looser_rung", o.looser_rung);
  columns("head_rms", o.head_rms);
  picture_columns(columns, o.picture);
  columns("reference_rows", o.reference_rows);
  columns("rows_total", o.rows_total);
  columns("row_seed", o.row_seed);
  columns("widening", o.widening);
  columns("output_digest", o.output_digest);
  columns("repeat_checked", o.repeat_checked);
  columns("repeat_equal", o.repeat_equal);
  columns("calls", o.calls);
  columns("call_difference", o.call_difference);
  columns("timed", o.timed);
  columns.measured(o.timed);
  columns("time_ns", o.time_ns);
  columns("time_mad_ns", o.time_mad_ns);
  columns("time_ratio", o.time_ratio);
  columns.measured(o.timed && o.time_hot_ns > 0);
  columns("time_hot_ns", o.time_hot_ns);
  columns.measured(true);
  times_columns(columns, o.times);
  columns.unless_minus_one("peak_memory_bytes", o.peak_memory_bytes);
  columns("wall_ms", o.wall_ms);
  columns("saved_to", o.saved_to);
  columns("reused_from", o.reused_from);
  expected_columns(columns, o.expected);
  judgement_columns(columns, stored.judgement);
  case_judgement_columns(columns, stored.judgement);
}

template <class Columns, class Row>
void diff_columns(Columns& columns, Row& stored) {
  auto& d = stored.outcome;
  columns("suite", d.suite);
  columns("name", d.name);
  columns("tier", d.tier);
  columns("expect", d.expect);
  columns("case_a", d.case_a);
  columns("case_b", d.case_b);
  columns("status", d.status);
  columns("reason", d.reason);
  columns.measured(d.status == Status::ok);
  columns("compared_rows", d.rows);
  columns("elements", d.elements);
  columns("max_abs", d.max_abs);
  columns("mean_abs", d.mean_abs);
  columns("max_rel", d.max_rel);
  columns("mean_rel", d.mean_rel);
  columns("max_sigma", d.max_sigma);
  columns("max_ulp", d.max_ulp);
  columns("max_rel_expected", d.max_rel_expected);
  columns("rms_output", d.rms_output);
  columns("max_abs_sample", d.max_abs_element.sample);
  columns("max_abs_head", d.max_abs_element.head);
  columns("max_abs_row", d.max_abs_element.row);
  columns("max_abs_column", d.max_abs_element.column);
  columns("max_rel_sample", d.max_rel_element.sample);
  columns("max_rel_head", d.max_rel_element.head);
  columns("max_rel_row", d.max_rel_element.row);
  columns("max_rel_column", d.max_rel_element.column);
  columns("bit_equal_share", d.bit_equal_share);
  columns("heads", d.heads);
  columns("heads_bit_equal", d.heads_bit_equal);
  columns("rms_a", d.rms_a);
  columns("rms_b", d.rms_b);
  columns.measured(true);
  std::string per_head = per_head_text(d.per_head);
  columns("per_head", per_head);
  if constexpr (Columns::loading) d.per_head = parse_per_head(per_head);
  columns("time_ns_a", d.time_ns_a);
  columns("time_ns_b", d.time_ns_b);
  judgement_columns(columns, stored.judgement);
}

template <class Columns, class Row>
void suite_score_columns(Columns& columns, Row& score) {
  columns("suite", score.suite);
  columns("kernel", score.kernel);
  columns("dtype", score.dtype);
  columns("statistic", score.statistic);
  columns("cases", score.cases);
  columns("value", score.value);
  columns("limit_value", score.limit);
  columns("status", score.status);
}

// Returns the columns that one of the functions above lists, for example
// column_names(outcome_columns<ColumnNames, const StoredOutcome>).
template <class Row>
std::vector<std::string> column_names(void (*describe)(ColumnNames&, const Row&)) {
  ColumnNames columns;
  describe(columns, Row{});
  return columns.names;
}

}  // namespace plumbline
