// Renders `plumbline diff --format json`.

#include "harness/report/diff_text.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

Json side_json(const DiffSide& side) {
  return {JSON_FIELDS(side, label, answer, outcome.status, outcome.reason, why),
          {"spec", side.spec_name},
          JSON_FIELDS(side, outcome.spec_judged, judgement.percent_of_limit,
                      judgement.nearest_statistic, judgement.findings),
          {"where", side.outcome.location.description}};
}

Json element_json(const DiffElement& e) {
  return {JSON_FIELDS(e, element.sample, element.head, element.row, element.column, a, b, expected,
                      sigma_a, sigma_b, ulp)};
}

void add_difference(Json& object, const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  object.update(
      Json{JSON_FIELDS(diff, rows), JSON_FIELDS(report, rows_total),
           JSON_FIELDS(diff, elements, max_abs, mean_abs, max_rel, mean_rel, max_sigma),
           JSON_FIELDS(report, limit),
           JSON_FIELDS_BY(element_json, report, largest_abs, largest_rel, largest_sigma),
           JSON_FIELDS(diff, bit_equal_share, heads, heads_bit_equal, rms_output, rms_a, rms_b)});
  const Amplification& softmax = report.softmax;
  object["kappa"] = {JSON_FIELDS(softmax, rows, median, largest),
                     {"largest_row", {JSON_FIELDS(softmax.largest_row, sample, head, row)}},
                     {"rank_correlation", softmax.correlation},
                     JSON_FIELDS(softmax, significant)};
  object["map"] = json_list(report.map, [](const DiffCell& cell) -> Json {
    return {JSON_FIELDS(cell, sample, head, max_sigma, bit_equal)};
  });
}

}  // namespace

std::string json_of_diffs(const std::vector<DiffReport>& reports, Answer answer) {
  const auto diffs = json_list(reports, [](const DiffReport& report) {
    Json object = {JSON_FIELDS(report, name, answer, sentence),
                   JSON_FIELDS_BY(side_json, report, a, b),
                   JSON_FIELDS(report, outcome.status, not_judged)};
    if (report.outcome.status == Status::ok) add_difference(object, report);
    return object;
  });
  return json_text({{"answer", name(answer)}, {"diffs", diffs}});
}

}  // namespace plumbline
