// Renders a case's history for a terminal.
#include "harness/report/case_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/median.h"
#include "harness/report/format.h"

namespace plumbline {
namespace {

constexpr std::array unicode_levels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array ascii_levels{"_", ".", ":", "-", "=", "+", "*", "#"};
constexpr double min_span = 0.1;  // relative to the median

constexpr std::size_t label_columns = 8;  // "  error "
constexpr std::size_t max_points = 60;    // columns of a sparkline
constexpr std::size_t commit_digits = 7;

std::string minute_of(const std::string& started_at) {
  std::string text = started_at.substr(0, 16);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

std::string day_of(const HistoryPoint& point) { return point.started_at.substr(0, 10); }

template <class Value>
std::vector<std::optional<double>> values_of(const CaseHistory& history, std::size_t begin,
                                             Value value) {
  std::vector<std::optional<double>> values;
  for (std::size_t i = begin; i < history.points.size(); ++i)
    values.push_back(value(history.points[i]));
  return values;
}

bool any(const std::vector<std::optional<double>>& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
}

std::string error_now(const HistoryPoint& newest) {
  if (!newest.rms) return std::string(in_words(newest.verdict));
  std::string text = "rms " + number(*newest.rms);
  if (newest.percent_of_limit) text += ", " + percent(*newest.percent_of_limit) + " of the limit";
  return text;
}

std::string time_now(const CaseHistory& history, const HistoryPoint& newest) {
  std::string text;
  if (newest.time_ns) text += duration(*newest.time_ns);
  if (newest.time_ratio) text += ", ratio " + number(*newest.time_ratio);
  if (newest.is_set_aside) text += " (set aside)";
  const auto or_none = [](const std::optional<double>& value) {
    return value ? number(*value) : std::string("-");
  };
  return text + "; level " + or_none(history.level) + ", limit " + or_none(history.limit);
}

// Returns the line below the sparklines: "^" where the level of the time changed, "x" where the
// case failed.
std::string marks(const CaseHistory& history, std::size_t begin) {
  std::string line(history.points.size() - begin, ' ');
  for (std::size_t i = begin; i < history.points.size(); ++i)
    if (is_failure(history.points[i].verdict)) line[i - begin] = 'x';
  for (const std::size_t change : history.changes)
    if (change >= begin) line[change - begin] = '^';
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string change_line(const CaseHistory& history, const TimeStretch& before,
                        const TimeStretch& after) {
  const HistoryPoint& point = history.points[after.begin];
  const double ratio = after.level / before.level;
  const std::string commit =
      point.commit.empty() ? "" : " at " + point.commit.substr(0, commit_digits);
  const double size = std::abs(100 * (ratio - 1));
  return fmt::format("  ^ {}{}: {} by {:.{}f} %, ratio {} -> {}\n", day_of(point), commit,
                     ratio > 1 ? "slower" : "faster", size, size < 10 ? 1 : 0, number(before.level),
                     number(after.level));
}

std::string sparklines(const CaseHistory& history, const Style& style) {
  const std::size_t room =
      style.width > 0
          ? std::max<std::size_t>(10, static_cast<std::size_t>(style.width) - label_columns)
          : max_points;
  const std::size_t shown = std::min({history.points.size(), max_points, room});
  const std::size_t begin = history.points.size() - shown;
  const HistoryPoint& newest = history.points.back();
  const auto errors = values_of(history, begin, [](const auto& p) { return p.rms; });
  const auto times = values_of(history, begin, [](const auto& p) { return p.time_ratio; });
  std::string text = "  error " + sparkline(errors, style.unicode) + "\n";
  if (any(times)) text += "  time  " + sparkline(times, style.unicode) + "\n";
  if (const std::string line = marks(history, begin); !line.empty())
    text += std::string(label_columns, ' ') + line + "\n";
  text += "  now     " + wrapped(error_now(newest), 10, style) + "\n";
  if (any(times)) text += "          " + wrapped(time_now(history, newest), 10, style) + "\n";
  const auto stretches = time_stretches(history);
  for (std::size_t i = 1; i < stretches.size(); ++i)
    text += change_line(history, stretches[i - 1], stretches[i]);
  return text;
}

}  // namespace

std::vector<TimeStretch> time_stretches(const CaseHistory& history) {
  std::vector<std::size_t> begins{0};
  begins.insert(begins.end(), history.changes.begin(), history.changes.end());
  std::vector<TimeStretch> stretches;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : history.points.size();
    std::vector<double> ratios;
    for (std::size_t k = begins[i]; k < end; ++k)
      if (history.points[k].time_ratio) ratios.push_back(*history.points[k].time_ratio);
    if (!ratios.empty()) stretches.push_back({begins[i], end, median(std::move(ratios))});
  }
  return stretches;
}

std::string sparkline(const std::vector<std::optional<double>>& values, bool unicode) {
  std::vector<double> known;
  for (const auto& value : values)
    if (value && std::isfinite(*value)) known.push_back(*value);
  const auto& levels = unicode ? unicode_levels : ascii_levels;
  double low = 0, span = 1;
  if (!known.empty()) {
    const auto [least, most] = std::minmax_element(known.begin(), known.end());
    low = *least;
    span = *most - *least;
    const double wanted = min_span * std::abs(median(known));
    if (span < wanted) low -= (wanted - span) / 2, span = wanted;
    if (!(span > 0)) span = 1;
  }
  std::string text;
  for (const auto& value : values) {
    if (!value) {
      text += ' ';
      continue;
    }
    // NaN and infinities count as largest
    const double place = std::isfinite(*value) ? (*value - low) / span : 1;
    const auto last = static_cast<double>(levels.size() - 1);
    text +=
        levels[static_cast<std::size_t>(std::clamp(std::floor(place * levels.size()), 0.0, last))];
  }
  return text;
}

std::string render_history(const CaseHistory& history, std::size_t rows, const Style& style) {
  std::string text = history.case_id + "\n";
  if (!history.provider_options.empty())
    text += fmt::format("  with the provider options {}\n", history.provider_options);
  text += sparklines(history, style);
  std::vector<std::vector<std::string>> table;
  bool any_set_aside = false;
  for (std::size_t i = history.points.size(); i > 0 && table.size() < rows; --i) {
    const HistoryPoint& point = history.points[i - 1];
    const bool is_set_aside = point.time_ratio && point.is_set_aside;
    any_set_aside = any_set_aside || is_set_aside;
    table.push_back(
        {minute_of(point.started_at), point.run_id.substr(0, 8),
         fmt::format("{}{}", point.is_incomplete ? "incomplete: " : "", in_words(point.verdict)),
         point.rms ? number(*point.rms) : "",
         point.percent_of_limit ? percent(*point.percent_of_limit) : "",
         point.time_ns ? duration(*point.time_ns) : "",
         point.time_ratio ? number(*point.time_ratio) + (is_set_aside ? " ~" : "") : "",
         point.commit.substr(0, commit_digits)});
  }
  return text +
         render_table({"started", "run", "verdict", "rms", "limit", "time", "ratio", "commit"},
                      table, style) +
         (any_set_aside ? "~ set aside: the night or the case was disturbed, and its time is not "
                          "judged\n"
                        : "");
}

}  // namespace plumbline
