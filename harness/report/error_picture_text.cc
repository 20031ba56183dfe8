// Draws the errors of one outcome for a terminal: their histogram and a map of the largest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/outcome/expected_errors.h"
#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

constexpr int bins = ErrorPicture::bins;
constexpr int lines = 5;  // height of the histogram
constexpr std::array eighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Returns the height of a bar in eighths of a line. The square root keeps the few elements of the
// tails visible next to the many near zero.
int height_of(double count, double most) {
  if (!(count > 0) || !(most > 0)) return 0;
  return std::max(1, static_cast<int>(std::lround(8 * lines * std::sqrt(count / most))));
}

// Returns one cell of a bar that ends `eighths_here` eighths of a line above the cell's lower edge.
std::string bar_cell(int eighths_here, bool unicode) {
  const int filled = std::clamp(eighths_here, 0, 8);
  if (unicode) return eighths.at(static_cast<std::size_t>(filled));
  return filled == 0 ? " " : filled < 5 ? "." : "#";
}

std::string histogram_line(const ErrorPicture& picture, const ErrorCurve& expected, double most,
                           int line, bool unicode) {
  std::string text;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const int floor = 8 * (lines - 1 - line);
    const int measured = height_of(picture.histogram[bin], most) - floor;
    const int curve = height_of(expected[bin], most) - floor;
    const bool is_of_curve = measured <= 0 && curve > 0 && curve <= 8;
    text += is_of_curve ? (unicode ? "·" : "'") : bar_cell(measured, unicode);
  }
  return text;
}

// Indents a line of the drawing like the texts after labels.
std::string indented_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return std::string(label_width + 2, ' ') + line + "\n";
}

std::string histogram(const ErrorPicture& picture, double rms, std::int64_t columns,
                      const Style& style) {
  const ErrorCurve expected = expected_errors(picture, rest_of(picture, rms));
  const ErrorBand band = band_about(expected, columns);
  double most = *std::max_element(expected.begin(), expected.end());
  std::uint64_t elements = 0;
  std::string outside(bins, ' ');
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double count = picture.histogram[bin];
    elements += picture.histogram[bin];
    most = std::max(most, count);
    if (count < band.low[bin] || count > band.high[bin]) outside[bin] = 'x';
  }
  std::string text = labelled(
      "errors",
      fmt::format("e / sigma of {}, height by the root of the count; {} expected from the declared "
                  "roundings",
                  plural(elements, "element"), style.unicode ? "·" : "'"),
      style);
  for (int line = 0; line < lines; ++line)
    text += indented_line(histogram_line(picture, expected, most, line, style.unicode));
  const int count = bins_outside(picture, band);
  if (count > 0) text += indented_line(outside);
  text += indented_line("-5        -2.5      0         2.5       5");
  text += labelled(
      "",
      count == 0
          ? "within the band in which 99 of 100 correct outputs lie"
          : fmt::format("x: {} of {} bins are outside of the band in which 99 of 100 correct "
                        "outputs lie",
                        count, bins),
      style);
  return text;
}

struct Shade {
  const char* unicode;
  char ascii;
};
constexpr Shade nothing{" ", ' '}, no_number{"N", 'N'};
constexpr std::array shades{Shade{"·", '.'}, Shade{"░", ':'}, Shade{"▒", '+'}, Shade{"▓", '#'},
                            Shade{"█", '@'}};

Shade shade_of(std::uint8_t code, double limit) {
  if (code == 0) return nothing;
  if (code == map_code(std::nan(""))) return no_number;
  const double share = map_size(code) / limit;
  return shades.at(share <= 0.5 ? 0 : share <= 1 ? 1 : share <= 10 ? 2 : share <= 100 ? 3 : 4);
}

std::string map(const ErrorPicture& picture, double limit, const Style& style) {
  const auto sign = [&](const Shade& shade) {
    return style.unicode ? std::string(shade.unicode) : std::string(1, shade.ascii);
  };
  std::string text = labelled(
      "largest",
      fmt::format("|e| / sigma by row (down) and column (across): {} to half of the limit, {} to "
                  "the limit of {:.3g}, {} to 10 times, {} to 100 times, {} beyond, N no number",
                  sign(shades[0]), sign(shades[1]), limit, sign(shades[2]), sign(shades[3]),
                  sign(shades[4])),
      style);
  for (std::int64_t row = 0; row < picture.map_rows; ++row) {
    std::string line;
    for (std::int64_t column = 0; column < picture.map_columns; ++column) {
      const auto at = static_cast<std::size_t>(row * picture.map_columns + column);
      const std::string cell = sign(shade_of(picture.map[at], limit));
      line += cell + cell;  // a terminal's cell is twice as high as wide
    }
    text += indented_line(line);
  }
  return text;
}

}  // namespace

std::string render_errors(const StoredOutcome& stored, const Style& style) {
  const Outcome& outcome = stored.outcome;
  if (outcome.picture.histogram.empty()) return "";
  const Limits limits = stored.judgement.terms ? stored.judgement.terms->limits : Limits{};
  return histogram(outcome.picture, outcome.errors.rms, outcome.c.problem.head_dim_vo, style) +
         map(outcome.picture, limits.peak, style) + "\n";
}

}  // namespace plumbline
