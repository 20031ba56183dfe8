// Writes the reports of an audit and of a calibration as JSON.
#include "harness/outcome/statistics_table.h"
#include "harness/report/audit_text.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

Json rules_json(const AuditRow& row) {
  Json list = Json::array();
  const auto rules = rules_elsewhere();
  for (std::size_t i = 0; i < rule_count; ++i) {
    const auto& of = row.rules[i];
    Json object{{"rule", rules[i].name}, {"source", rules[i].source}, {"applies", of.applies}};
    if (of.applies)
      object.update({{"caught", of.caught},
                     {"legal_flagged", of.legal_flagged},
                     {"false_alarms", of.alarms}});
    list.push_back(std::move(object));
  }
  return list;
}

Json row_json(const AuditRow& row) {
  return {{"dtype", row.dtype},
          {"mutants", row.mutants},
          {"caught", row.caught},
          {"caught_without_lse", row.caught_without_lse},
          {"pass_allclose_1e2", row.pass_allclose_1e2},
          {"slip_allclose_1e2", row.slip_allclose_1e2},
          {"legal_kernels", row.legal},
          {"legal_flagged", row.legal_flagged},
          {"legal_runs", row.legal_trials},
          {"false_alarms", row.false_alarms},
          {"rules", rules_json(row)}};
}

Json mutant_json(const MutantResult& m) {
  Json by_rule = Json::object();
  const auto rules = rules_elsewhere();
  for (std::size_t i = 0; i < rule_count; ++i)
    by_rule[std::string(rules[i].name)] = m.caught_by_rule[i];
  Json object{{"name", m.mutant->name},
              {"class", m.mutant->bug_class},
              {"what", m.mutant->what},
              {"dtype", m.dtype},
              {"runs", m.trials},
              {"changed", m.changed},
              {"failures", m.failures},
              {"slipped", m.slipped},
              {"caught", m.caught},
              {"caught_without_lse", m.caught_without_lse},
              {"by", m.by},
              {"first_case", m.first_case},
              {"location", m.location},
              {"fault", m.fault},
              {"provider", m.mutant->provider},
              {"expected_diagnosis", m.mutant->diagnosis},
              {"diagnosed", name(m.diagnosed)},
              {"caught_by_rule", std::move(by_rule)}};
  if (m.survives()) object["reviewed"] = m.reviewed;
  return object;
}

Json headroom_json(const Headroom& h) {
  if (h.limit <= 0) return nullptr;
  return {{"value", json_value(h.value)},
          {"limit", json_value(h.limit)},
          {"percent_of_limit", json_value(h.percent())},
          {"where", h.where}};
}

}  // namespace

std::string json_of_audit(const AuditReport& report) {
  Json root{{"suites", report.suites},
            {"problems", report.problems},
            {"runs", report.trials},
            {"seconds", json_value(report.seconds)},
            {"exit_code", report.exit_code()},
            {"unreviewed_survivors", report.unreviewed_survivors()},
            {"false_alarms", report.false_alarms()},
            {"mistrusted", report.mistrusted},
            {"not_asked", report.not_asked},
            {"not_exercised", report.inert},
            {"judged_by_invariances", report.breakers},
            {"reviews_to_drop", report.reviews_to_drop}};
  Json& diagnoses = root["diagnoses"] = Json::object();
  for (const DiagnosisResult result : all<DiagnosisResult>())
    diagnoses[std::string(name(result))] = report.diagnoses[static_cast<std::size_t>(result)];
  Json& dtypes = root["dtypes"] = Json::array();
  for (const AuditRow& row : report.rows) dtypes.push_back(row_json(row));
  Json& mutants = root["mutants"] = Json::array();
  for (const MutantResult& m : report.mutants) mutants.push_back(mutant_json(m));
  Json& legal = root["legal"] = Json::array();
  for (const LegalResult& l : report.legal) {
    legal.push_back({{"kernel", l.kernel},
                     {"dtype", l.dtype},
                     {"runs", l.trials},
                     {"false_alarms", l.false_alarms},
                     {"first_case", l.first_case},
                     {"why", l.why}});
  }
  return json_text(root);
}

std::string json_of_calibration(const CalibrationReport& report) {
  Json root{{"suites", report.suites},
            {"first_seed", report.first_seed},
            {"last_seed", report.last_seed},
            {"kernels", report.kernels},
            {"runs", report.runs},
            {"false_alarms", report.false_alarms},
            {"suite_sums", report.suite_sums},
            {"suite_alarms", report.suite_alarms},
            {"not_measured", report.not_measured},
            {"alarms", report.alarms},
            {"seconds", json_value(report.seconds)},
            {"exit_code", report.exit_code()}};
  Json& rows = root["rows"] = Json::array();
  for (const CalibrationRow& row : report.rows) {
    Json object = {{"tier", row.tier},
                   {"dtype", row.dtype},
                   {"out", row.out},
                   {"runs", row.runs},
                   {"elements", row.elements}};
    for (const Statistic& statistic : deciding_statistics)
      object[std::string(statistic.key)] = headroom_json(row.statistics[statistic]);
    object["suite"] = headroom_json(row.suite);
    rows.push_back(std::move(object));
  }
  return json_text(root);
}

}  // namespace plumbline
