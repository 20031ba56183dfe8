// Writes the differences of `plumbline diff --format json`.

#include "harness/report/diff_text.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

Json side_json(const DiffSide& side) {
  Json findings = Json::array();
  for (const Finding& finding : side.judgement.findings) findings.push_back(finding.text);
  return {{"label", side.label},
          {"answer", name(side.answer)},
          {"status", name(side.outcome.status)},
          {"reason", side.outcome.reason},
          {"why", side.why},
          {"spec", side.spec_name},
          {"spec_judged", side.outcome.spec_judged},
          {"percent_of_limit", json_value(side.judgement.percent_of_limit)},
          {"nearest_statistic", side.judgement.nearest_statistic},
          {"findings", findings},
          {"where", side.outcome.location.description}};
}

Json element_json(const DiffElement& e) {
  Json object = element_json(e.element);
  object.update(Json{{"a", json_value(e.a)},
                     {"b", json_value(e.b)},
                     {"expected", json_value(e.expected)},
                     {"sigma_a", json_value(e.sigma_a)},
                     {"sigma_b", json_value(e.sigma_b)},
                     {"ulp", json_value(e.ulp)}});
  return object;
}

void add_difference(Json& object, const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  object.update(Json{{"rows", diff.rows},
                     {"rows_total", report.rows_total},
                     {"elements", diff.elements},
                     {"max_abs", json_value(diff.max_abs)},
                     {"mean_abs", json_value(diff.mean_abs)},
                     {"max_rel", json_value(diff.max_rel)},
                     {"mean_rel", json_value(diff.mean_rel)},
                     {"max_sigma", json_value(diff.max_sigma)},
                     {"limit", report.limit},
                     {"largest_abs", element_json(report.largest_abs)},
                     {"largest_rel", element_json(report.largest_rel)},
                     {"largest_sigma", element_json(report.largest_sigma)},
                     {"bit_equal_share", diff.bit_equal_share},
                     {"heads", diff.heads},
                     {"heads_bit_equal", diff.heads_bit_equal},
                     {"rms_output", json_value(diff.rms_output)},
                     {"rms_a", json_value(diff.rms_a)},
                     {"rms_b", json_value(diff.rms_b)}});
  const Amplification& softmax = report.softmax;
  object["kappa"] = {{"rows", softmax.rows},
                     {"median", json_value(softmax.median)},
                     {"largest", json_value(softmax.largest)},
                     {"largest_row",
                      {{"sample", softmax.largest_row.sample},
                       {"head", softmax.largest_row.head},
                       {"row", softmax.largest_row.row}}},
                     {"rank_correlation", json_value(softmax.correlation)},
                     {"significant", softmax.significant}};
  object["map"] = Json::array();
  for (const DiffCell& cell : report.map) {
    object["map"].push_back({{"sample", cell.sample},
                             {"head", cell.head},
                             {"max_sigma", json_value(cell.max_sigma)},
                             {"bit_equal", cell.bit_equal}});
  }
}

}  // namespace

std::string json_of_diffs(const std::vector<DiffReport>& reports, Answer answer) {
  Json root = {{"answer", name(answer)}, {"diffs", Json::array()}};
  for (const DiffReport& report : reports) {
    Json object = {{"name", report.name},
                   {"answer", name(report.answer)},
                   {"sentence", report.sentence},
                   {"a", side_json(report.a)},
                   {"b", side_json(report.b)},
                   {"status", name(report.outcome.status)},
                   {"not_judged", not_judged_json(report.not_judged)}};
    if (report.outcome.status == Status::ok) add_difference(object, report);
    root["diffs"].push_back(std::move(object));
  }
  return json_text(root);
}

}  // namespace plumbline
