// Renders a run as JSON.

#include "harness/judge/judge.h"
#include "harness/outcome/statistics_table.h"
#include "harness/report/changes.h"
#include "harness/report/json_value.h"
#include "harness/report/report.h"
#include "harness/report/summary.h"
#include "harness/store/machine.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

Json times_json(const Times& times) {
  const auto round_json = [](const TimeRound& round) {
    Json object{JSON_FIELDS(round, ratio, load, mhz, plan_ns, quiet)};
    if (!round.throttled.empty()) object.update({JSON_FIELDS(round, throttled)});
    return object;
  };
  return {JSON_FIELDS(times, cpu_ns, sentinel_ns, flops_per_second, bytes_per_second, flops_share,
                      bytes_share, physics),
          JSON_FIELDS_BY(list_of(round_json), times, rounds)};
}

Json run_json(const RunInfo& run) {
  return {JSON_FIELDS(run, run_id, started_at, machine.device_kind, machine.arch, machine.model,
                      machine.memory_bytes, machine.clock_policy, commit, host, compiler, flags,
                      command_line, shard, purpose, selection, night_id)};
}

void add_judgement(Json& object, const Judgement& judgement) {
  const auto finding_json = [](const Finding& finding) -> Json {
    return {{"statistic", name(finding.kind)}, JSON_FIELDS(finding, value, limit, text)};
  };
  object.update({JSON_FIELDS(judgement, verdict, percent_of_limit, nearest_statistic),
                 JSON_FIELDS_BY(list_of(finding_json), judgement, findings),
                 JSON_FIELDS(judgement, notes)});
}

Json errors_json(const ErrorStatistics& errors) {
  Json object = {JSON_FIELDS(errors, elements)};
  for (const Statistic& statistic : error_statistics) {
    if (is_measured(statistic, errors)) object[statistic.column] = errors.*statistic.value;
  }
  return object;
}

Json faults_json(const Faults& faults) {
  Json object;
  for (const FaultKind& kind : fault_kinds) object[std::string(kind.key())] = faults.*kind.count;
  object.update({JSON_FIELDS(faults, detail)});
  return object;
}

Json worst_json(const Outcome& outcome) {
  const WorstElement& worst = *outcome.worst;
  return {{"statistic", outcome.worst_statistic},
          JSON_FIELDS(worst, element, got, expected, sigma, ulp, visible_keys, share)};
}

Json launched_json(const Outcome& outcome) {
  const Description& description = outcome.description;
  return {JSON_FIELDS(description, launched, build_id, tensor_cores, device_arch, padding_policy),
          JSON_FIELDS_BY(spec_text, description, spec),
          JSON_FIELDS(description, registers_per_thread, spill_bytes_per_thread,
                      shared_memory_bytes, stack_bytes_per_thread),
          JSON_FIELDS(outcome, workspace_bytes)};
}

// Adds the members that only an outcome with an output has.
void add_measurement(Json& object, const Outcome& outcome) {
  object.update(
      {JSON_FIELDS_BY(errors_json, outcome, errors), JSON_FIELDS_BY(faults_json, outcome, faults)});
  if (outcome.worst) object["worst"] = worst_json(outcome);
  if (!outcome.location.description.empty())
    object["location"] = {JSON_FIELDS(outcome.location, kind, description, z)};
  object.update({JSON_FIELDS(outcome, reference_rows, rows_total)});
  if (outcome.row_seed != 0) object.update({JSON_FIELDS(outcome, row_seed)});
  object.update({JSON_FIELDS(outcome, widening, spec_judged, output_digest)});
  if (outcome.repeat_checked) object.update({JSON_FIELDS(outcome, repeat_equal)});
  if (outcome.calls > 0) object.update({JSON_FIELDS(outcome, calls)});
  if (!outcome.call_difference.empty()) object.update({JSON_FIELDS(outcome, call_difference)});
  if (outcome.timed) {
    object.update({JSON_FIELDS(outcome, time_ns, time_mad_ns, time_ratio),
                   JSON_FIELDS_BY(times_json, outcome, times)});
    if (outcome.time_hot_ns > 0) object.update({JSON_FIELDS(outcome, time_hot_ns)});
    if (outcome.peak_memory_bytes >= 0) object.update({JSON_FIELDS(outcome, peak_memory_bytes)});
  }
}

Json outcome_json(const StoredOutcome& stored) {
  const Outcome& outcome = stored.outcome;
  const Judgement& judgement = stored.judgement;
  Json object = {JSON_FIELDS(judgement, verdict),
                 JSON_FIELDS(outcome, cause, looser_rung),
                 {"case", outcome.case_id},
                 JSON_FIELDS(outcome, suite, group, tier, c.kernel, provider_options, c.device),
                 {"problem", problem_id(outcome.c.problem)},
                 JSON_FIELDS(outcome, problem_digest)};
  add_judgement(object, judgement);
  object.update({JSON_FIELDS(outcome, status, reason), {"description", launched_json(outcome)}});
  if (outcome.status == Status::ok) add_measurement(object, outcome);
  object.update({JSON_FIELDS(outcome, wall_ms)});
  if (outcome.device != DeviceFacts{})
    object["gpu"] = {JSON_FIELDS(outcome.device, model, memory_bytes, driver, runtime)};
  if (const auto& times = judgement.time_against_past)
    object["time_against_past"] = {JSON_FIELDS(*times, runs, ratio)};
  if (const auto& gated = judgement.gated_time)
    object["gate"] = {
        JSON_FIELDS(*gated, finding, nights, pool, level, spread, limit, change, deviation)};
  if (judgement.confirmation) object["confirmation"] = name(*judgement.confirmation);
  if (!outcome.reused_from.empty()) object.update({JSON_FIELDS(outcome, reused_from)});
  if (const auto& expected = outcome.expected)
    object["expected_failure"] = {JSON_FIELDS(*expected, issue, expires, reason)};
  if (!outcome.saved_to.empty()) object.update({JSON_FIELDS(outcome, saved_to)});
  return object;
}

Json diff_json(const StoredDiff& stored) {
  const DiffOutcome& diff = stored.outcome;
  Json object = {
      JSON_FIELDS(diff, suite, name, tier, expect), {"a", diff.case_a}, {"b", diff.case_b}};
  add_judgement(object, stored.judgement);
  object.update({JSON_FIELDS(diff, status, reason)});
  if (diff.status != Status::ok) return object;
  const auto head_json = [](const DiffHead& head) -> Json {
    return {JSON_FIELDS(head, sample, head, mean_abs, max_abs, bit_equal)};
  };
  object.update(
      {JSON_FIELDS(diff, rows, elements, max_abs, mean_abs, max_rel, mean_rel, max_sigma, max_ulp,
                   max_rel_expected, rms_output, max_abs_element, max_rel_element, bit_equal_share,
                   heads, heads_bit_equal, rms_a, rms_b, time_ns_a, time_ns_b),
       JSON_FIELDS_BY(list_of(head_json), diff, per_head)});
  return object;
}

Json verdicts_json(const std::map<Verdict, std::size_t>& counts) {
  Json verdicts = Json::object();
  for (const auto& [verdict, count] : counts) verdicts[std::string(name(verdict))] = count;
  return verdicts;
}

Json count_json(const VerdictCounts& counts) {
  return {JSON_FIELDS(counts, total, failures), JSON_FIELDS_BY(verdicts_json, counts, verdicts)};
}

Json invariance_count_json(const InvarianceCounts& counts) {
  return {JSON_FIELDS(counts, total, failures, not_judged),
          JSON_FIELDS_BY(verdicts_json, counts, verdicts)};
}

Json counts_json(const RunCounts& counts) {
  return {JSON_FIELDS(counts, failures()),
          JSON_FIELDS_BY(count_json, counts, cases, diffs),
          JSON_FIELDS_BY(invariance_count_json, counts, invariances),
          {"suite_statistics",
           {{"total", counts.statistics + counts.statistics_not_judged},
            {"failures", counts.statistics_failed},
            {"not_judged", counts.statistics_not_judged}}}};
}

Json score_json(const SuiteScore& score) {
  return {JSON_FIELDS(score, suite, kernel, dtype, statistic, cases, value, limit, status)};
}

Json invariance_json(const StoredInvariance& stored) {
  const InvarianceOutcome& outcome = stored.outcome;
  Json object = {JSON_FIELDS(outcome, suite),
                 {"case", outcome.case_id},
                 JSON_FIELDS(outcome, c.kernel, c.device, invariance, promise)};
  add_judgement(object, stored.judgement);
  object.update({JSON_FIELDS(outcome, status, reason, calls, calls_refused),
                 JSON_FIELDS(stored, is_not_judged())});
  if (outcome.status != Status::ok) return object;
  object.update(
      {{"agreement", agreement(outcome)}, JSON_FIELDS(outcome, elements, other_bits, problem_a)});
  if (outcome.other_bits == 0) return object;
  object.update(
      {JSON_FIELDS(outcome, problem_b, statistic, element, value_a, value_b, sigmas, limit, ulps)});
  return object;
}

Json change_json(const RunChange& row) {
  return {JSON_FIELDS(row, change.kind, suite),
          {"case", row.case_id},
          JSON_FIELDS(row.change, value, limit, text, standing),
          {"is_failure", row.change.standing == Standing::failure}};
}

Json night_times_json(const NightTimes& row) {
  return {JSON_FIELDS_BY(describe, row, machine),
          JSON_FIELDS(row, series, common_shift, suspect, why, fresh, candidates, confirmed,
                      expected_false_alerts, second_pairs, second_alarms, load)};
}

}  // namespace

std::string json_of_run(const RunReport& report) {
  Json root = {
      {"summary", headline(report)},
      {"counts", counts_json(counts_of(report))},
      {"run", run_json(*report.run)},
      JSON_FIELDS(report, exit_code, state(), incomplete.planned_cases, incomplete.missing_cases),
      {"nothing_measured", nothing_measured(report)},
      {"not_measured", report.absent},
      JSON_FIELDS(report, unsettled),
      JSON_FIELDS_BY(list_of(outcome_json), report, outcomes),
      JSON_FIELDS_BY(list_of(diff_json), report, diffs),
      {"suite_scores", json_list(report.scores, score_json)},
      JSON_FIELDS_BY(list_of(change_json), report, changes),
      JSON_FIELDS_BY(list_of(night_times_json), report, night_times)};
  if (report.invariances != nullptr)
    root["invariances"] = json_list(report.invariances, invariance_json);
  return json_text(root);
}

}  // namespace plumbline
