// Writes the details of one outcome: errors, histogram, time, contract and history.
#include "harness/report/page_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/contract/contract_snapshot.h"
#include "harness/outcome/expected_errors.h"
#include "harness/outcome/statistics_table.h"
#include "harness/problem/geometry.h"
#include "harness/report/layout.h"
#include "harness/store/stored.h"
#include "harness/timing/level_changes.h"

namespace plumbline {
namespace {

// Returns the number of rows of the longest sample, which the map covers.
std::int64_t longest_sample(const Problem& problem) {
  const Geometry geometry(problem);
  std::int64_t longest = 0;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample)
    longest = std::max(longest, geometry.length_q(sample));
  return longest;
}

// Returns the rms of each (sample, head): null for NaN and infinity, -1 if no row was compared. The
// outcome has 0 for both an exact head and one without rows, so 0 means exact only if all heads are
// 0.
Json heads_json(const Outcome& outcome) {
  const auto& heads = outcome.head_rms;
  const bool all_exact = std::all_of(heads.begin(), heads.end(), [](float x) { return x == 0; });
  return json_list(heads, [&](float rms) {
    return rms == 0 && !all_exact ? Json(-1) : rounded(double{rms}, 3);
  });
}

template <class Numbers>
Json rounded_list(const Numbers& numbers) {
  return json_list(numbers, [](double x) { return rounded(x); });
}

Json picture_json(const Outcome& outcome) {
  const ErrorPicture& picture = outcome.picture;
  if (picture.histogram.empty()) return nullptr;
  const ErrorCurve expected = expected_errors(picture, rest_of(picture, outcome.errors.rms)),
                   permitted = expected_errors(picture);
  const ErrorBand band = band_about(expected, outcome.c.problem.head_dim_vo);
  const auto curve = [](const ErrorCurve& values) { return rounded_list(values); };
  const auto map = [](const std::vector<std::uint8_t>& codes) {
    return json_list(codes, [](std::uint8_t code) {
      return code == 0                        ? Json(nullptr)
             : code == map_code(std::nan("")) ? Json(-1)
                                              : rounded(map_size(code), 3);
    });
  };
  return {JSON_FIELDS(picture, histogram),           {"expected", curve(expected)},
          {"permitted", curve(permitted)},           JSON_FIELDS_BY(curve, band, low, high),
          {"outside", bins_outside(picture, band)},  JSON_FIELDS(picture, map_rows, map_columns),
          JSON_FIELDS_BY(map, picture, map),         {"rows", longest_sample(outcome.c.problem)},
          {"columns", outcome.c.problem.head_dim_vo}};
}

Json worst_of(const Outcome& outcome) {
  if (!outcome.worst) return nullptr;
  const WorstElement& worst = *outcome.worst;
  std::vector<std::pair<std::string, double>> shares;
  for (std::size_t i = 0; i < worst.share.size(); ++i) {
    if (worst.share[i] >= 0.005)
      shares.emplace_back(std::string(name(static_cast<Rounding>(i))), worst.share[i]);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto exact = [](double x) { return rounded(x, 9); };
  return {{"statistic", outcome.worst_statistic},
          JSON_FIELDS(worst.element, sample, head, row, column),
          JSON_FIELDS_BY(exact, worst, got, expected),
          JSON_FIELDS_BY(rounded, worst, sigma, ulp),
          JSON_FIELDS(worst, visible_keys),
          {"shares", json_list(shares, [](const auto& share) {
             return Json::array({share.first, rounded(share.second)});
           })}};
}

Json time_json(const StoredOutcome& stored) {
  const auto& [outcome, judgement] = stored;
  if (!outcome.timed) return nullptr;
  const bool is_gated = judgement.gated_time.has_value();
  const GatedTime gated = judgement.gated_time.value_or(GatedTime{});
  const auto if_gated = [&](double figure) { return is_gated ? rounded(figure) : Json(); };
  return {{"ns", rounded(outcome.time_ns)},
          {"mad_ns", rounded(outcome.time_mad_ns)},
          {"ratio", rounded(outcome.time_ratio)},
          JSON_FIELDS(gated, finding),
          JSON_FIELDS_BY(if_gated, gated, level, limit, change),
          {"confirmation", judgement.confirmation ? name(*judgement.confirmation) : ""},
          {"fresh", rounded_list(outcome.times.fresh_ratios)}};
}

Json finding_json(const Finding& finding) {
  return {{"statistic", name(finding.kind)},
          JSON_FIELDS_BY(rounded, finding, value, limit),
          JSON_FIELDS(finding, text)};
}

// Returns the indices of `points` at which the level of the time changes.
Json changes_json(const std::vector<PagePoint>& points) {
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].ratio || !(*points[i].ratio > 0) || !std::isfinite(*points[i].ratio)) continue;
    values.push_back(std::log(*points[i].ratio));
    places.push_back(i);
  }
  return json_list(level_changes(values), [&](std::size_t change) { return places[change]; });
}

Json history_json(const PageInput& input, std::size_t row) {
  const auto found = input.history.find(row);
  const std::vector<PagePoint> none;
  const std::vector<PagePoint>& points = found == input.history.end() ? none : found->second;
  const auto entry_of = [&](const PagePoint& point) -> Json {
    return {{"night", place_of_night(input, point.run_id)},
            JSON_FIELDS_BY(rounded, point, percent, rms, ratio, level, limit),
            JSON_FIELDS(point, verdict),
            {"outlook", name(point.standing)},
            {"set_aside", point.is_set_aside}};
  };
  Json history = entry_of({});
  for (Json& entries : history) entries = Json::array();
  std::vector<PagePoint> kept;
  for (const PagePoint& point : points) {
    const Json entry = entry_of(point);
    if (entry["night"] < 0) continue;
    kept.push_back(point);
    for (const auto& [key, value] : entry.items()) history[key].push_back(value);
  }
  history["changes"] = changes_json(kept);
  return history;
}

}  // namespace

Json page_detail(const PageInput& input, std::size_t row) {
  const StoredOutcome& stored = (*input.report->outcomes)[row];
  const auto& [outcome, judgement] = stored;
  Json limits = Json::object(), errors = Json::object();
  for (const Statistic& statistic : error_statistics) {
    if (outcome.status != Status::ok || !is_measured(statistic, outcome.errors)) continue;
    errors[statistic.column] = rounded(outcome.errors.*statistic.value);
    if (statistic.limit != nullptr && judgement.terms)
      limits[statistic.column] = rounded(judgement.terms->limits.*statistic.limit);
  }
  const Description& description = outcome.description;
  const auto known = [](auto value) { return value < 0 ? Json(nullptr) : Json(value); };
  const std::string& command =
      input.reproduce_of.empty() ? input.report->reproduce_command : input.reproduce_of[row];
  const ContractSnapshot terms = judgement.terms.value_or(ContractSnapshot{});
  return {{"row", row},
          JSON_FIELDS_BY(list_of(finding_json), judgement, findings),
          JSON_FIELDS(judgement, notes),
          {"limits", std::move(limits)},
          {"errors", std::move(errors)},
          JSON_FIELDS(outcome, reason),
          {"location", outcome.location.description},
          JSON_FIELDS(outcome, looser_rung),
          {"worst", worst_of(outcome)},
          {"picture", picture_json(outcome)},
          {"heads", heads_json(outcome)},
          {"heads_per_sample", outcome.c.problem.heads_q},
          {"contract",
           {{"policy", terms.padding_policy ? name(*terms.padding_policy) : ""},
            {"promises", promises_text(terms.promises)},
            {"spec", outcome.spec_judged},
            {"declared", spec_text(description.spec)}}},
          {"launched",
           {{"what", description.launched},
            {"build", description.build_id},
            JSON_FIELDS(description, tensor_cores),
            {"registers", known(description.registers_per_thread)},
            {"spills", known(description.spill_bytes_per_thread)},
            {"shared_bytes", known(description.shared_memory_bytes)}}},
          {"time", time_json(stored)},
          {"reproduce", reproduce_line(command, outcome)},
          JSON_FIELDS(outcome, saved_to),
          {"history", history_json(input, row)}};
}

}  // namespace plumbline
