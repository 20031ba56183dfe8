// Writes a run as JSON.

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
  Json rounds = Json::array();
  for (const TimeRound& round : times.rounds) {
    Json object{{"ratio", json_value(round.ratio)},
                {"load", json_value(round.load)},
                {"mhz", json_value(round.mhz)},
                {"plan_ns", json_value(round.plan_ns)},
                {"quiet", json_value(round.quiet)}};
    if (!round.throttled.empty()) object["throttled"] = round.throttled;
    rounds.push_back(std::move(object));
  }
  return {{"cpu_ns", json_value(times.cpu_ns)},
          {"sentinel_ns", json_value(times.sentinel_ns)},
          {"flops_per_second", json_value(times.flops_per_second)},
          {"bytes_per_second", json_value(times.bytes_per_second)},
          {"flops_share", json_value(times.flops_share)},
          {"bytes_share", json_value(times.bytes_share)},
          {"physics", json_value(times.physics)},
          {"rounds", std::move(rounds)}};
}

Json run_json(const RunInfo& run) {
  return {{"run_id", run.run_id},
          {"started_at", run.started_at},
          {"device_kind", run.machine.device_kind},
          {"arch", run.machine.arch},
          {"model", run.machine.model},
          {"memory_bytes", run.machine.memory_bytes},
          {"clock_policy", run.machine.clock_policy},
          {"commit", run.commit},
          {"host", run.host},
          {"compiler", run.compiler},
          {"flags", run.flags},
          {"command_line", run.command_line},
          {"shard", run.shard},
          {"purpose", run.purpose},
          {"selection", run.selection},
          {"night_id", run.night_id}};
}

void add_judgement(Json& object, const Judgement& judgement) {
  object["verdict"] = name(judgement.verdict);
  object["percent_of_limit"] = json_value(judgement.percent_of_limit);
  object["nearest_statistic"] = judgement.nearest_statistic;
  object["findings"] = Json::array();
  for (const Finding& finding : judgement.findings) {
    object["findings"].push_back({{"statistic", name(finding.kind)},
                                  {"value", json_value(finding.value)},
                                  {"limit", json_value(finding.limit)},
                                  {"text", finding.text}});
  }
  object["notes"] = judgement.notes;
}

Json errors_json(const ErrorStatistics& errors) {
  Json object = {{"elements", errors.elements}};
  for (const Statistic& statistic : error_statistics) {
    if (is_measured(statistic, errors))
      object[statistic.column] = json_value(errors.*statistic.value);
  }
  return object;
}

Json faults_json(const Faults& faults) {
  Json object;
  for (const FaultKind& kind : fault_kinds) object[std::string(kind.key())] = faults.*kind.count;
  object["detail"] = faults.detail;
  return object;
}

Json worst_json(const Outcome& outcome) {
  const WorstElement& worst = *outcome.worst;
  Json object = {{"statistic", outcome.worst_statistic}, {"element", element_json(worst.element)},
                 {"got", json_value(worst.got)},         {"expected", json_value(worst.expected)},
                 {"sigma", json_value(worst.sigma)},     {"ulp", json_value(worst.ulp)},
                 {"visible_keys", worst.visible_keys}};
  object["share"] = share_json(worst.share);
  return object;
}

Json launched_json(const Outcome& outcome) {
  const Description& description = outcome.description;
  return {{"launched", description.launched},
          {"build_id", description.build_id},
          {"tensor_cores", description.tensor_cores},
          {"device_arch", description.device_arch},
          {"padding_policy", name(description.padding_policy)},
          {"spec", spec_text(description.spec)},
          {"registers_per_thread", description.registers_per_thread},
          {"spill_bytes_per_thread", description.spill_bytes_per_thread},
          {"shared_memory_bytes", description.shared_memory_bytes},
          {"stack_bytes_per_thread", description.stack_bytes_per_thread},
          {"workspace_bytes", outcome.workspace_bytes}};
}

Json device_json(const DeviceFacts& device) {
  return {{"model", device.model},
          {"memory_bytes", device.memory_bytes},
          {"driver", device.driver},
          {"runtime", device.runtime}};
}

// What only an outcome with output has.
void add_measurement(Json& object, const Outcome& outcome) {
  object["errors"] = errors_json(outcome.errors);
  object["faults"] = faults_json(outcome.faults);
  if (outcome.worst) object["worst"] = worst_json(outcome);
  if (!outcome.location.description.empty()) {
    object["location"] = {{"kind", name(outcome.location.kind)},
                          {"description", outcome.location.description},
                          {"z", json_value(outcome.location.z)}};
  }
  object["reference_rows"] = outcome.reference_rows;
  object["rows_total"] = outcome.rows_total;
  if (outcome.row_seed != 0) object["row_seed"] = outcome.row_seed;
  object["widening"] = json_value(outcome.widening);
  object["spec_judged"] = outcome.spec_judged;
  object["output_digest"] = outcome.output_digest;
  if (outcome.repeat_checked) object["repeat_equal"] = outcome.repeat_equal;
  if (outcome.calls > 0) object["calls"] = outcome.calls;
  if (!outcome.call_difference.empty()) object["call_difference"] = outcome.call_difference;
  if (outcome.timed) {
    object["time_ns"] = json_value(outcome.time_ns);
    object["time_mad_ns"] = json_value(outcome.time_mad_ns);
    object["time_ratio"] = json_value(outcome.time_ratio);
    object["times"] = times_json(outcome.times);
    if (outcome.time_hot_ns > 0) object["time_hot_ns"] = json_value(outcome.time_hot_ns);
    if (outcome.peak_memory_bytes >= 0) object["peak_memory_bytes"] = outcome.peak_memory_bytes;
  }
}

Json outcome_json(const StoredOutcome& stored) {
  const Outcome& outcome = stored.outcome;
  Json object = {{"verdict", name(stored.judgement.verdict)},
                 {"cause", outcome.cause},
                 {"looser_rung", outcome.looser_rung},
                 {"case", outcome.case_id},
                 {"suite", outcome.suite},
                 {"group", outcome.group},
                 {"tier", outcome.tier},
                 {"kernel", outcome.c.kernel},
                 {"provider_options", outcome.provider_options},
                 {"device", outcome.c.device},
                 {"problem", problem_id(outcome.c.problem)},
                 {"problem_digest", outcome.problem_digest}};
  add_judgement(object, stored.judgement);
  object["status"] = name(outcome.status);
  object["reason"] = outcome.reason;
  object["description"] = launched_json(outcome);
  if (outcome.status == Status::ok) add_measurement(object, outcome);
  object["wall_ms"] = json_value(outcome.wall_ms);
  if (outcome.device != DeviceFacts{}) object["gpu"] = device_json(outcome.device);
  if (stored.judgement.time_against_past) {
    object["time_against_past"] = {
        {"runs", stored.judgement.time_against_past->runs},
        {"ratio", json_value(stored.judgement.time_against_past->ratio)}};
  }
  if (const auto& gated = stored.judgement.gated_time) {
    object["gate"] = {{"finding", gated->finding},
                      {"nights", gated->nights},
                      {"pool", gated->pool},
                      {"level", json_value(gated->level)},
                      {"spread", json_value(gated->spread)},
                      {"limit", json_value(gated->limit)},
                      {"change", json_value(gated->change)},
                      {"deviation", json_value(gated->deviation)}};
  }
  if (stored.judgement.confirmation) object["confirmation"] = name(*stored.judgement.confirmation);
  if (!outcome.reused_from.empty()) object["reused_from"] = outcome.reused_from;
  if (outcome.expected) {
    object["expected_failure"] = {{"issue", outcome.expected->issue},
                                  {"expires", outcome.expected->expires},
                                  {"reason", outcome.expected->reason}};
  }
  if (!outcome.saved_to.empty()) object["saved_to"] = outcome.saved_to;
  return object;
}

Json diff_json(const StoredDiff& stored) {
  const DiffOutcome& diff = stored.outcome;
  Json object = {{"suite", diff.suite},   {"name", diff.name}, {"tier", diff.tier},
                 {"expect", diff.expect}, {"a", diff.case_a},  {"b", diff.case_b}};
  add_judgement(object, stored.judgement);
  object["status"] = name(diff.status);
  object["reason"] = diff.reason;
  if (diff.status != Status::ok) return object;
  const Json measured = {{"rows", diff.rows},
                         {"elements", diff.elements},
                         {"max_abs", json_value(diff.max_abs)},
                         {"mean_abs", json_value(diff.mean_abs)},
                         {"max_rel", json_value(diff.max_rel)},
                         {"mean_rel", json_value(diff.mean_rel)},
                         {"max_sigma", json_value(diff.max_sigma)},
                         {"max_ulp", json_value(diff.max_ulp)},
                         {"max_rel_expected", json_value(diff.max_rel_expected)},
                         {"rms_output", json_value(diff.rms_output)},
                         {"max_abs_element", element_json(diff.max_abs_element)},
                         {"max_rel_element", element_json(diff.max_rel_element)},
                         {"bit_equal_share", json_value(diff.bit_equal_share)},
                         {"heads", diff.heads},
                         {"heads_bit_equal", diff.heads_bit_equal},
                         {"rms_a", json_value(diff.rms_a)},
                         {"rms_b", json_value(diff.rms_b)},
                         {"time_ns_a", json_value(diff.time_ns_a)},
                         {"time_ns_b", json_value(diff.time_ns_b)}};
  object.update(measured);
  Json heads = Json::array();
  for (const DiffHead& head : diff.per_head) {
    heads.push_back({{"sample", head.sample},
                     {"head", head.head},
                     {"mean_abs", json_value(head.mean_abs)},
                     {"max_abs", json_value(head.max_abs)},
                     {"bit_equal", head.bit_equal}});
  }
  object["per_head"] = std::move(heads);
  return object;
}

Json count_json(const VerdictCounts& counts) {
  Json verdicts = Json::object();
  for (const auto& [verdict, count] : counts.verdicts) verdicts[std::string(name(verdict))] = count;
  return {
      {"total", counts.total}, {"failures", counts.failures}, {"verdicts", std::move(verdicts)}};
}

Json counts_json(const RunCounts& counts) {
  return {{"failures", counts.failures()},
          {"cases", count_json(counts.cases)},
          {"diffs", count_json(counts.diffs)},
          {"invariances", count_json(counts.invariances)},
          {"suite_statistics",
           {{"total", counts.statistics + counts.statistics_not_judged},
            {"failures", counts.statistics_failed},
            {"not_judged", counts.statistics_not_judged}}}};
}

Json score_json(const SuiteScore& score) {
  return {{"suite", score.suite},
          {"kernel", score.kernel},
          {"dtype", score.dtype},
          {"statistic", score.statistic},
          {"cases", score.cases},
          {"value", json_value(score.value)},
          {"limit", json_value(score.limit)},
          {"status", score.status}};
}

Json invariance_json(const StoredInvariance& stored) {
  const InvarianceOutcome& outcome = stored.outcome;
  Json object = {{"suite", outcome.suite},
                 {"case", outcome.case_id},
                 {"kernel", outcome.c.kernel},
                 {"device", outcome.c.device},
                 {"invariance", name(outcome.invariance)},
                 {"promise", name(outcome.promise)}};
  add_judgement(object, stored.judgement);
  object["status"] = name(outcome.status);
  object["reason"] = outcome.reason;
  object["calls"] = outcome.calls;
  object["calls_refused"] = outcome.calls_refused;
  if (outcome.status != Status::ok) return object;
  object["agreement"] = agreement(outcome);
  object["elements"] = outcome.elements;
  object["other_bits"] = outcome.other_bits;
  object["problem_a"] = outcome.problem_a;
  if (outcome.other_bits == 0) return object;
  object["problem_b"] = outcome.problem_b;
  object["statistic"] = outcome.statistic;
  object["element"] = element_json(outcome.element);
  object["value_a"] = json_value(outcome.value_a);
  object["value_b"] = json_value(outcome.value_b);
  object["sigmas"] = json_value(outcome.sigmas);
  object["limit"] = json_value(outcome.limit);
  object["ulps"] = json_value(outcome.ulps);
  return object;
}

Json change_json(const RunChange& row) {
  return {{"kind", name(row.change.kind)},
          {"suite", row.suite},
          {"case", row.case_id},
          {"value", json_value(row.change.value)},
          {"limit", json_value(row.change.limit)},
          {"text", row.change.text},
          {"standing", name(row.change.standing)},
          {"is_failure", row.change.standing == Standing::failure}};
}

Json night_times_json(const NightTimes& row) {
  return {{"machine", describe(row.machine)},
          {"series", row.series},
          {"common_shift", json_value(row.common_shift)},
          {"suspect", row.suspect},
          {"why", row.why},
          {"fresh", row.fresh},
          {"candidates", row.candidates},
          {"confirmed", row.confirmed},
          {"expected_false_alerts", json_value(row.expected_false_alerts)},
          {"second_pairs", row.second_pairs},
          {"second_alarms", row.second_alarms},
          {"load", json_value(row.load)}};
}

}  // namespace

std::string json_of_run(const RunReport& report) {
  Json root = {{"summary", headline(report)},
               {"counts", counts_json(counts_of(report))},
               {"run", run_json(*report.run)},
               {"exit_code", report.exit_code},
               {"state", name(report.state())},
               {"planned_cases", report.incomplete.planned_cases},
               {"missing_cases", report.incomplete.missing_cases},
               {"nothing_measured", nothing_measured(report)},
               {"not_measured", report.absent},
               {"unsettled", report.unsettled},
               {"outcomes", Json::array()},
               {"diffs", Json::array()},
               {"suite_scores", Json::array()}};
  for (const StoredOutcome& stored : *report.outcomes)
    root["outcomes"].push_back(outcome_json(stored));
  for (const StoredDiff& stored : *report.diffs) root["diffs"].push_back(diff_json(stored));
  for (const SuiteScore& score : *report.scores) root["suite_scores"].push_back(score_json(score));
  root["changes"] = Json::array();
  for (const RunChange& row :
       report.changes != nullptr ? *report.changes : std::vector<RunChange>{})
    root["changes"].push_back(change_json(row));
  root["night_times"] = Json::array();
  for (const NightTimes& row :
       report.night_times != nullptr ? *report.night_times : std::vector<NightTimes>{})
    root["night_times"].push_back(night_times_json(row));
  if (report.invariances != nullptr) {
    root["invariances"] = Json::array();
    for (const StoredInvariance& stored : *report.invariances)
      root["invariances"].push_back(invariance_json(stored));
  }
  return json_text(root);
}

}  // namespace plumbline
