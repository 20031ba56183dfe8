// Draws panels of points over runs. Coordinates are SVG units, y downwards.
#include "harness/report/history_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/judge/verdict.h"
#include "harness/report/format.h"

namespace plumbline {
namespace {

constexpr double width = 960, left = 78, right = 130, panel_height = 170, gap = 34, top = 56,
                 bottom = 40;
constexpr const char* blue = "#2f6db3";
constexpr const char* red = "#c2332b";
constexpr const char* green = "#3c8d4e";
constexpr const char* grey = "#8a8a8a";

// Text between tags or in quotes. Control characters are no XML, in no spelling.
std::string svg_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
      case '\t':
        out += ' ';
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? "\xEF\xBF\xBD" : std::string(1, c);
    }
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, svg_text(text));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour,
                 const std::string& more = "") {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1,
      x2, y2, colour, more);
}

// What a browser shows of a point.
std::string title_of(const HistoryPoint& point) {
  std::string text = point.started_at.substr(0, 16) + ", " + std::string(in_words(point.verdict));
  if (point.rms) text += ", rms " + number(*point.rms);
  if (point.percent_of_limit) text += ", " + percent(*point.percent_of_limit) + " of the limit";
  if (point.time_ns) text += ", " + duration(*point.time_ns);
  if (point.time_ratio) text += ", ratio " + number(*point.time_ratio);
  if (point.is_set_aside) text += " (set aside)";
  text += ", run " + point.run_id.substr(0, 8);
  if (!point.night_id.empty()) text += ", night " + point.night_id;
  if (!point.commit.empty()) text += ", commit " + point.commit;
  return text;
}

// 1, 2 or 5 times a power of ten, so that about four steps fill the span.
double step_of(double span) {
  const double raw = span / 4, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

class Panel {
 public:
  // `at_least`: values that the scale must show, too.
  Panel(const CaseHistory& history, const std::string& label, double y,
        std::function<std::optional<double>(const HistoryPoint&)> value,
        const std::vector<double>& at_least)
      : history_(history), y_(y), value_(std::move(value)) {
    for (const HistoryPoint& point : history.points) {
      const auto v = value_(point);
      if (v && std::isfinite(*v)) include(*v);
    }
    for (const double v : at_least) include(v);
    // Room above and below, at least a tenth of the value, so that noise looks flat.
    const double room = std::max(0.08 * (high_ - low_), 0.05 * std::abs(high_));
    low_ = std::max(0.0, low_ - room), high_ += room;
    if (!(high_ > low_)) high_ = low_ + 1;
    axes(label);
  }

  double x(std::size_t i) const {
    const double count = std::max<double>(1, static_cast<double>(history_.points.size()) - 1);
    return left + (width - left - right) *
                      (history_.points.size() == 1 ? 0.5 : static_cast<double>(i) / count);
  }
  double y(double value) const {
    return y_ + panel_height * (high_ - std::clamp(value, low_, high_)) / (high_ - low_);
  }

  void horizontal(double value, const std::string& label, const char* colour) {
    text_ += line(left, y(value), width - right, y(value), colour, " stroke-dasharray=\"5 4\"");
    text_ += text_at(width - right + 6, y(value) + 4, label, fmt::format(" fill=\"{}\"", colour));
  }
  void level(const TimeStretch& stretch, bool is_last) {
    const double half = history_.points.size() > 1 ? (x(1) - x(0)) / 2 : 6;
    text_ += line(std::max(left, x(stretch.begin) - half), y(stretch.level),
                  std::min(width - right, x(stretch.end - 1) + half), y(stretch.level), green,
                  " stroke-width=\"2\"");
    if (is_last)
      text_ += text_at(width - right + 6, y(stretch.level) + 4, "level " + number(stretch.level),
                       fmt::format(" fill=\"{}\"", green));
  }
  void change(std::size_t point, const std::string& title) {
    const double at = (x(point) + x(point - 1)) / 2;
    text_ += fmt::format("<g><title>{}</title>\n{}</g>\n", svg_text(title),
                         line(at, y_, at, y_ + panel_height, grey, " stroke-width=\"1.5\""));
  }

  // The points themselves, above what was drawn before.
  std::string finish() {
    std::string path, points;
    bool gap_before = true;
    for (std::size_t i = 0; i < history_.points.size(); ++i) {
      const HistoryPoint& point = history_.points[i];
      auto value = value_(point);
      // What has no output fails at the top; what was not measured is a gap.
      if (value && !std::isfinite(*value)) value = high_;
      if (!value && is_failure(point.verdict)) value = high_;
      if (!value) {
        gap_before = true;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f} ", gap_before ? "M" : "L", x(i), y(*value));
      gap_before = false;
      points += mark(point, x(i), y(*value));
    }
    if (!path.empty()) {
      path.pop_back();
      text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"0.45\"/>\n",
                           path, blue);
    }
    return text_ + points;
  }

 private:
  void include(double value) {
    if (!any_) low_ = high_ = value;
    any_ = true;
    low_ = std::min(low_, value), high_ = std::max(high_, value);
  }

  void axes(const std::string& label) {
    text_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
        "stroke=\"#d0d0d0\"/>\n",
        left, y_, width - left - right, panel_height);
    text_ += text_at(left, y_ - 6, label, " font-weight=\"bold\"");
    const double step = step_of(high_ - low_);
    for (double tick = std::ceil(low_ / step) * step; tick <= high_; tick += step) {
      text_ += line(left, y(tick), width - right, y(tick), "#ececec");
      text_ += text_at(left - 6, y(tick) + 4,
                       fmt::format("{:.4g}", std::abs(tick) < step / 2 ? 0 : tick),
                       " text-anchor=\"end\"");
    }
  }

  static std::string mark(const HistoryPoint& point, double x, double y) {
    const std::string title = fmt::format("<title>{}</title>", svg_text(title_of(point)));
    if (!is_failure(point.verdict)) {
      const bool open = is_open(point.verdict) || is_tolerated(point.verdict);
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\">{}</circle>\n", x,
                         y, open ? "#d9902f" : blue, title);
    }
    return fmt::format(
        "<path d=\"M{0:.1f} {2:.1f}L{1:.1f} {3:.1f}M{0:.1f} {3:.1f}L{1:.1f} {2:.1f}\" "
        "stroke=\"{4}\" stroke-width=\"2.5\" fill=\"none\">{5}</path>\n",
        x - 4, x + 4, y - 4, y + 4, red, title);
  }

  const CaseHistory& history_;
  double y_;
  std::function<std::optional<double>(const HistoryPoint&)> value_;
  double low_ = 0, high_ = 0;
  bool any_ = false;
  std::string text_;
};

std::string time_panel(const CaseHistory& history, double y) {
  std::vector<double> must_show;
  if (history.limit) must_show.push_back(*history.limit);
  Panel panel(
      history, "time, over that of the sentinel", y,
      [](const HistoryPoint& p) { return p.time_ratio; }, must_show);
  const auto stretches = time_stretches(history);
  for (std::size_t i = 1; i < stretches.size(); ++i) {
    const HistoryPoint& point = history.points[stretches[i].begin];
    panel.change(stretches[i].begin,
                 fmt::format("level {} -> {} from {} on{}", number(stretches[i - 1].level),
                             number(stretches[i].level), point.started_at.substr(0, 16),
                             point.commit.empty() ? "" : ", commit " + point.commit));
  }
  if (history.limit) panel.horizontal(*history.limit, "limit " + number(*history.limit), red);
  for (std::size_t i = 0; i < stretches.size(); ++i)
    panel.level(stretches[i], i + 1 == stretches.size());
  return panel.finish();
}

// First, middle and last day under the panels.
std::string days(const CaseHistory& history, double y) {
  const std::size_t last = history.points.size() - 1;
  const auto day = [&](std::size_t i) { return history.points[i].started_at.substr(0, 10); };
  std::string text = text_at(left, y, day(0));
  const double middle = left + (width - left - right) / 2;
  if (last > 1) text += text_at(middle, y, day(last / 2), " text-anchor=\"middle\"");
  if (last > 0) text += text_at(width - right, y, day(last), " text-anchor=\"end\"");
  return text;
}

}  // namespace

std::string render_history_svg(const CaseHistory& history) {
  const bool timed = std::any_of(history.points.begin(), history.points.end(),
                                 [](const HistoryPoint& p) { return p.time_ratio.has_value(); });
  const int panels = timed ? 3 : 2;
  const double height = top + panels * panel_height + (panels - 1) * gap + bottom;
  const auto y_of = [](int panel) { return top + panel * (panel_height + gap); };
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" "
      "fill=\"#222222\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
      width, height);
  text += text_at(left, 18, history.case_id, " font-size=\"13\" font-weight=\"bold\"");
  std::string where = history.machine;
  if (!history.provider_options.empty()) where += ", options " + history.provider_options;
  text += text_at(left, 35, where, " fill=\"#666666\"");
  text += Panel(history, "error, rms in units of sigma", y_of(0),
                [](const HistoryPoint& p) { return p.rms; }, {})
              .finish();
  Panel percent(history, "percent of the limit", y_of(1),
                [](const HistoryPoint& p) { return p.percent_of_limit; }, {0, 100});
  percent.horizontal(100, "limit", red);
  text += percent.finish();
  if (timed) text += time_panel(history, y_of(2));
  return text + days(history, height - bottom + 18) + "</svg>\n";
}

}  // namespace plumbline
