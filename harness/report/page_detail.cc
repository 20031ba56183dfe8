// Errors, picture, time, contract and history of one outcome.
#include "harness/report/page_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/contract/terms.h"
#include "harness/outcome/expected_errors.h"
#include "harness/outcome/statistics_table.h"
#include "harness/problem/geometry.h"
#include "harness/report/format.h"
#include "harness/store/stored.h"
#include "harness/timing/level_changes.h"

namespace plumbline {
namespace {

// Rows of the longest sample, which the map divides.
std::int64_t longest_sample(const Problem& problem) {
  const Geometry geometry(problem);
  std::int64_t longest = 0;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample)
    longest = std::max(longest, geometry.length_q(sample));
  return longest;
}

// By (sample, head): null where the error is no number, -1 where nothing was compared. The row says
// 0 of these; an rms of exactly 0 is believed where all heads have it.
Json heads_json(const Outcome& outcome) {
  const auto& heads = outcome.head_rms;
  const bool all_exact = std::all_of(heads.begin(), heads.end(), [](float x) { return x == 0; });
  Json list = Json::array();
  for (const float rms : heads)
    list.push_back(rms == 0 && !all_exact ? Json(-1) : rounded(double{rms}, 3));
  return list;
}

Json picture_json(const Outcome& outcome) {
  const ErrorPicture& picture = outcome.picture;
  if (picture.histogram.empty()) return nullptr;
  const ErrorCurve expected = expected_errors(picture, rest_of(picture, outcome.errors.rms)),
                   permitted = expected_errors(picture);
  const ErrorBand band = band_about(expected, outcome.c.problem.head_dim_vo);
  const auto curve = [](const ErrorCurve& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(rounded(value));
    return list;
  };
  Json map = Json::array();
  for (const std::uint8_t code : picture.map) {
    map.push_back(code == 0                        ? Json(nullptr)
                  : code == map_code(std::nan("")) ? Json(-1)
                                                   : rounded(map_size(code), 3));
  }
  return {{"histogram", picture.histogram},
          {"expected", curve(expected)},
          {"permitted", curve(permitted)},
          {"low", curve(band.low)},
          {"high", curve(band.high)},
          {"outside", bins_outside(picture, band)},
          {"map_rows", picture.map_rows},
          {"map_columns", picture.map_columns},
          {"map", std::move(map)},
          {"rows", longest_sample(outcome.c.problem)},
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
  Json list = Json::array();
  for (const auto& [rounding, share] : shares)
    list.push_back(Json::array({rounding, rounded(share)}));
  return {{"statistic", outcome.worst_statistic},
          {"sample", worst.element.sample},
          {"head", worst.element.head},
          {"row", worst.element.row},
          {"column", worst.element.column},
          {"got", rounded(worst.got, 9)},
          {"expected", rounded(worst.expected, 9)},
          {"sigma", rounded(worst.sigma)},
          {"ulp", rounded(worst.ulp)},
          {"visible_keys", worst.visible_keys},
          {"shares", std::move(list)}};
}

Json time_json(const StoredOutcome& stored) {
  const auto& [outcome, judgement] = stored;
  if (!outcome.timed) return nullptr;
  Json fresh = Json::array();
  for (const double ratio : outcome.times.fresh_ratios) fresh.push_back(rounded(ratio));
  Json time = {{"ns", rounded(outcome.time_ns)},
               {"mad_ns", rounded(outcome.time_mad_ns)},
               {"ratio", rounded(outcome.time_ratio)},
               {"finding", judgement.gated_time ? judgement.gated_time->finding : ""},
               {"level", nullptr},
               {"limit", nullptr},
               {"change", nullptr},
               {"confirmation", judgement.confirmation ? name(*judgement.confirmation) : ""},
               {"fresh", std::move(fresh)}};
  if (judgement.gated_time) {
    time["level"] = rounded(judgement.gated_time->level);
    time["limit"] = rounded(judgement.gated_time->limit);
    time["change"] = rounded(judgement.gated_time->change);
  }
  return time;
}

Json findings_json(const Judgement& judgement) {
  Json list = Json::array();
  for (const Finding& finding : judgement.findings) {
    list.push_back({{"statistic", name(finding.kind)},
                    {"value", rounded(finding.value)},
                    {"limit", rounded(finding.limit)},
                    {"text", finding.text}});
  }
  return list;
}

// Places of levels' changes in a list of ratios.
Json changes_json(const std::vector<PagePoint>& points) {
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].ratio || !(*points[i].ratio > 0) || !std::isfinite(*points[i].ratio)) continue;
    values.push_back(std::log(*points[i].ratio));
    places.push_back(i);
  }
  Json changes = Json::array();
  for (const std::size_t change : level_changes(values)) changes.push_back(places[change]);
  return changes;
}

std::string reproduce(const PageInput& input, std::size_t row, const Outcome& outcome) {
  return fmt::format(
      "{}{} --case {}",
      input.reproduce_of.empty() ? input.report->reproduce_command : input.reproduce_of[row],
      outcome.row_seed == 0 ? "" : fmt::format(" --row-seed {}", outcome.row_seed),
      shell_quoted(outcome.case_id));
}

Json history_json(const PageInput& input, std::size_t row) {
  const auto found = input.history.find(row);
  const std::vector<PagePoint> none;
  const std::vector<PagePoint>& points = found == input.history.end() ? none : found->second;
  Json history = {
      {"night", Json::array()},   {"percent", Json::array()}, {"rms", Json::array()},
      {"ratio", Json::array()},   {"level", Json::array()},   {"limit", Json::array()},
      {"verdict", Json::array()}, {"outlook", Json::array()}, {"set_aside", Json::array()}};
  std::vector<PagePoint> kept;
  for (const PagePoint& point : points) {
    const std::ptrdiff_t night = place_of_night(input, point.run_id);
    if (night < 0) continue;
    kept.push_back(point);
    history["night"].push_back(night);
    history["percent"].push_back(rounded(point.percent));
    history["rms"].push_back(rounded(point.rms));
    history["ratio"].push_back(rounded(point.ratio));
    history["level"].push_back(rounded(point.level));
    history["limit"].push_back(rounded(point.limit));
    history["verdict"].push_back(point.verdict);
    history["outlook"].push_back(name(point.standing));
    history["set_aside"].push_back(point.is_set_aside);
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
  const Terms terms = judgement.terms.value_or(Terms{});
  return {{"row", row},
          {"findings", findings_json(judgement)},
          {"notes", judgement.notes},
          {"limits", std::move(limits)},
          {"errors", std::move(errors)},
          {"reason", outcome.reason},
          {"location", outcome.location.description},
          {"looser_rung", outcome.looser_rung},
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
            {"tensor_cores", description.tensor_cores},
            {"registers", known(description.registers_per_thread)},
            {"spills", known(description.spill_bytes_per_thread)},
            {"shared_bytes", known(description.shared_memory_bytes)}}},
          {"time", time_json(stored)},
          {"reproduce", reproduce(input, row, outcome)},
          {"saved_to", outcome.saved_to},
          {"history", history_json(input, row)}};
}

}  // namespace plumbline
