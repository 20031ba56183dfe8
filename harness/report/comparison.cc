// Renders the comparison of two runs, nights or commits.
#include "harness/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/report/summary.h"

namespace plumbline {
namespace {

using Cases = std::vector<const ComparedCase*>;
using Rows = std::vector<std::vector<std::string>>;

// A new build may change the bits of every case, so only the largest changes are listed.
constexpr std::size_t max_errors = 20;

template <class Keep>
Cases cases_that(const RunComparison& comparison, Keep keep) {
  Cases found;
  for (const ComparedCase& c : comparison.cases)
    if (keep(c)) found.push_back(&c);
  return found;
}

// Sorts by size, largest first; NaN counts as infinite.
template <class Size>
void sort_by(Cases& cases, Size size) {
  const auto known = [&](const ComparedCase* c) {
    const double value = size(*c);
    return std::isnan(value) ? HUGE_VAL : value;
  };
  std::stable_sort(cases.begin(), cases.end(), [&](const ComparedCase* a, const ComparedCase* b) {
    return known(a) > known(b);
  });
}

double rms_change(const ComparedCase& c) {
  return c.before.rms == c.after.rms ? 0 : std::abs(std::log(c.after.rms / c.before.rms));
}

std::string ratio(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.3f}", after / before) : "";
}

std::string verdict_section(const RunComparison& comparison, const Style& style) {
  const Cases changed =
      cases_that(comparison, [&](const auto& c) { return c.before.verdict != c.after.verdict; });
  if (changed.empty()) return "";
  Rows rows;
  for (const ComparedCase* c : changed) {
    rows.push_back({c->case_id, fmt::format("{} -> {}", in_words(c->before.verdict),
                                            in_words(c->after.verdict))});
  }
  return render_table({"case", "verdict before and after"}, rows, style) + "\n";
}

std::string time_cell(const ComparedSide& side) {
  const std::string time = duration(side.time_ns);
  return side.unjudged_time.empty() ? time : fmt::format("{} ({})", time, side.unjudged_time);
}

std::string time_section(const RunComparison& comparison, const Style& style) {
  Cases changed = cases_that(comparison, [&](const ComparedCase& c) {
    const bool timed = c.same_class && c.before.time_ratio > 0 && c.after.time_ratio > 0;
    return timed && (comparison.all || c.is_slower() || c.is_faster());
  });
  if (changed.empty()) return "";
  sort_by(changed, [](const ComparedCase& c) { return std::abs(std::log(c.time_change())); });
  Rows rows;
  for (const ComparedCase* c : changed) {
    rows.push_back({c->case_id, time_cell(c->before), time_cell(c->after),
                    fmt::format("{:.3f}", c->time_change()), fmt::format("{:.3f}", c->time_noise)});
  }
  return render_table({"case", "time before", "after", "ratio", "noise"}, rows, style) + "\n";
}

std::string error_section(const RunComparison& comparison, const Style& style) {
  Cases changed = cases_that(comparison, [&](const ComparedCase& c) {
    return c.measured() && (comparison.all || !c.bits_equal());
  });
  if (changed.empty()) return "";
  sort_by(changed, rms_change);
  const std::size_t shown = comparison.all ? changed.size() : std::min(changed.size(), max_errors);
  Rows rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const ComparedCase& c = *changed[i];
    rows.push_back({c.case_id, number(c.before.rms), number(c.after.rms),
                    ratio(c.before.rms, c.after.rms), c.bits_equal() ? "equal" : "differ"});
  }
  std::string text = render_table({"case", "rms before", "after", "ratio", "bits"}, rows, style);
  if (shown < changed.size())
    text += fmt::format("and {} more with other bits: --all shows them\n",
                        plural(changed.size() - shown, "case"));
  return text + "\n";
}

std::string incomplete_lines(const RunComparison& comparison, const Style& style) {
  std::string text;
  for (const auto& [label, side] : {std::pair{&comparison.before, &comparison.incomplete_before},
                                    std::pair{&comparison.after, &comparison.incomplete_after}}) {
    if (!side->any) continue;
    text +=
        wrapped(fmt::format("Incomplete: {}: {}", *label, missing_text(*side)), 2, style) + "\n";
  }
  return text;
}

std::string lost_line(const RunComparison& comparison, const Style& style) {
  if (comparison.lost == 0) return "";
  return wrapped(fmt::format("lost coverage: {} of {} not measured in {}",
                             plural(comparison.lost, "case"), comparison.before, comparison.after),
                 2, style) +
         "\n";
}

std::string options_line(const RunComparison& comparison, const Style& style) {
  const Cases other = cases_that(comparison, [](const ComparedCase& c) {
    return c.before.provider_options != c.after.provider_options;
  });
  if (other.empty()) return "";
  return wrapped(
             fmt::format("cases with other provider options: {}; the first has \"{}\" in {}, "
                         "\"{}\" in {}",
                         other.size(), other.front()->before.provider_options, comparison.before,
                         other.front()->after.provider_options, comparison.after),
             0, style) +
         "\n";
}

}  // namespace

double ComparedCase::time_change() const {
  return same_class && before.time_ratio > 0 && after.time_ratio > 0
             ? after.time_ratio / before.time_ratio
             : 1;
}

bool RunComparison::any_worse() const {
  return std::any_of(cases.begin(), cases.end(), [](const ComparedCase& c) {
    return is_failure(c.after.verdict) && !is_failure(c.before.verdict);
  });
}

bool RunComparison::any_less_sure() const {
  return std::any_of(cases.begin(), cases.end(), [](const ComparedCase& c) {
    return standing_of(c.before.verdict) == Standing::fine &&
           standing_of(c.after.verdict) != Standing::fine;
  });
}

RunState RunComparison::state() const {
  if (any_worse()) return RunState::not_fine;
  const bool is_open = incomplete_before.any || incomplete_after.any || lost > 0 || any_less_sure();
  return is_open ? RunState::open : RunState::fine;
}

std::string render_comparison(const RunComparison& comparison, const Style& style) {
  const auto count = [&](auto&& is) { return cases_that(comparison, is).size(); };
  std::string text = incomplete_lines(comparison, style) + verdict_section(comparison, style) +
                     time_section(comparison, style) + error_section(comparison, style);
  text += wrapped(fmt::format("{} in both, {} with equal bits; {} only in {}, {} only in {}",
                              plural(comparison.cases.size(), "case"),
                              count([](const auto& c) { return c.bits_equal(); }),
                              comparison.only_before, comparison.before, comparison.only_after,
                              comparison.after),
                  0, style) +
          "\n" + lost_line(comparison, style) + options_line(comparison, style);
  return text + fmt::format(
                    "time relative to the sentinel: {} slower and {} faster cases (beyond "
                    "noise)\n",
                    count([](const auto& c) { return c.is_slower(); }),
                    count([](const auto& c) { return c.is_faster(); }));
}

// Merges two objects with equal keys into one: key_before, key_after, ….
void add_both(Json& object, const Json& before, const Json& after) {
  for (const auto& [key, value] : before.items()) {
    object[key + "_before"] = value;
    object[key + "_after"] = after[key];
  }
}

Json case_json(const ComparedCase& c) {
  const auto figures = [](const ComparedSide& side) -> Json {
    return {JSON_FIELDS(side, verdict, rms, time_ratio, time_ns)};
  };
  const auto maker = [](const ComparedSide& side) -> Json {
    return {JSON_FIELDS(side, machine, provider_options)};
  };
  Json object = {JSON_FIELDS(c, suite), {"case", c.case_id}};
  add_both(object, figures(c.before), figures(c.after));
  object.update({JSON_FIELDS(c, time_noise), {"slower", c.is_slower()}, {"faster", c.is_faster()}});
  add_both(object, maker(c.before), maker(c.after));
  object.update(
      {JSON_FIELDS(c, bits_equal()), {"build_equal", c.before.build_id == c.after.build_id}});
  return object;
}

std::string json_of_comparison(const RunComparison& comparison) {
  // A single run is named by its id, as in documents written before nights existed.
  const auto named = [](const std::string& label, const std::vector<std::string>& runs) {
    return runs.size() == 1 ? runs.front() : label;
  };
  return json_text(
      {{"before", named(comparison.before, comparison.runs_before)},
       {"after", named(comparison.after, comparison.runs_after)},
       JSON_FIELDS(comparison, runs_before, runs_after, only_before, only_after, lost, state()),
       {"incomplete_before", comparison.incomplete_before.any},
       {"incomplete_after", comparison.incomplete_after.any},
       JSON_FIELDS_BY(list_of(case_json), comparison, cases)});
}

}  // namespace plumbline
