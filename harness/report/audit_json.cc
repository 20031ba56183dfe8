// Renders an audit and a calibration as JSON.
#include "harness/outcome/statistics_table.h"
#include "harness/report/audit_text.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

Json rules_json(const AuditRow& row) {
  Json list = Json::array();
  const auto rules = third_party_rules();
  for (std::size_t i = 0; i < rule_count; ++i) {
    const auto& of = row.rules[i];
    Json object{{"rule", rules[i].name}, {"source", rules[i].source}, JSON_FIELDS(of, applies)};
    if (of.applies)
      object.update({JSON_FIELDS(of, caught, legal_flagged), {"false_alarms", of.alarms}});
    list.push_back(std::move(object));
  }
  return list;
}

Json row_json(const AuditRow& row) {
  return {JSON_FIELDS(row, dtype, mutants, caught, caught_without_lse, pass_allclose_1e2,
                      slip_allclose_1e2),
          {"legal_kernels", row.legal},
          JSON_FIELDS(row, legal_flagged),
          {"legal_runs", row.legal_trials},
          JSON_FIELDS(row, false_alarms),
          {"rules", rules_json(row)}};
}

Json mutant_json(const MutantResult& m) {
  Json by_rule = Json::object();
  const auto rules = third_party_rules();
  for (std::size_t i = 0; i < rule_count; ++i)
    by_rule[std::string(rules[i].name)] = m.caught_by_rule[i];
  Json object{JSON_FIELDS(m, mutant->name),
              {"class", m.mutant->bug_class},
              JSON_FIELDS(m, mutant->what, dtype),
              {"runs", m.trials},
              JSON_FIELDS(m, changed, failures, slipped, caught, caught_without_lse, by, first_case,
                          location, fault, mutant->provider),
              {"expected_diagnosis", m.mutant->diagnosis},
              JSON_FIELDS(m, diagnosed),
              {"caught_by_rule", std::move(by_rule)}};
  if (m.survives()) object.update({JSON_FIELDS(m, reviewed)});
  return object;
}

Json headroom_json(const Headroom& h) {
  if (h.limit <= 0) return nullptr;
  return {JSON_FIELDS(h, value, limit), {"percent_of_limit", h.percent()}, JSON_FIELDS(h, where)};
}

}  // namespace

std::string json_of_audit(const AuditReport& report) {
  Json root{JSON_FIELDS(report, suites, problems),
            {"runs", report.trials},
            JSON_FIELDS(report, seconds, exit_code(), unreviewed_survivors(), false_alarms(),
                        mistrusted, not_run),
            {"not_exercised", report.inert},
            {"judged_by_invariances", report.breakers},
            JSON_FIELDS(report, reviews_to_drop)};
  Json& diagnoses = root["diagnoses"] = Json::object();
  for (const DiagnosisResult result : all<DiagnosisResult>())
    diagnoses[std::string(name(result))] = report.diagnoses[static_cast<std::size_t>(result)];
  root["dtypes"] = json_list(report.rows, row_json);
  root["mutants"] = json_list(report.mutants, mutant_json);
  root["legal"] = json_list(report.legal, [](const LegalResult& l) -> Json {
    return {JSON_FIELDS(l, kernel, dtype),
            {"runs", l.trials},
            JSON_FIELDS(l, false_alarms, first_case, why)};
  });
  return json_text(root);
}

std::string json_of_calibration(const CalibrationReport& report) {
  Json root{JSON_FIELDS(report, suites, first_seed, last_seed, kernels, runs, false_alarms,
                        suite_sums, suite_alarms, not_measured, alarms, seconds, exit_code())};
  root["rows"] = json_list(report.rows, [](const CalibrationRow& row) {
    Json object = {JSON_FIELDS(row, tier, dtype, out, runs, elements)};
    for (const Statistic& statistic : deciding_statistics)
      object[std::string(statistic.key)] = headroom_json(row.statistics[statistic]);
    object["suite"] = headroom_json(row.suite);
    return object;
  });
  return json_text(root);
}

}  // namespace plumbline
