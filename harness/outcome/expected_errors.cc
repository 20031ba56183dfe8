// Adds up the distributions of uniform plus normal errors over the classes of spre / sigma.
#include "harness/outcome/expected_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace plumbline {
namespace {

constexpr int bins = ErrorPicture::bins, classes = ErrorPicture::ratio_classes;

// spre / sigma in the middle of a class. Its square is the share of spre^2 in sigma^2.
double class_deviation(int i) { return (i + 0.5) / classes; }
double class_share(int i) { return class_deviation(i) * class_deviation(i); }

// Returns the integral of the normal distribution function: t Phi(t) + phi(t).
double normal_integral(double t) {
  const double density = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  return t * std::erfc(-t / std::numbers::sqrt2) / 2 + density;
}

// Returns P(u + n <= x); u is uniform in [-half, half], n normal with standard deviation
// `deviation`.
double distribution(double x, double half, double deviation) {
  if (deviation < 1e-6 * half) return std::clamp((x + half) / (2 * half), 0.0, 1.0);
  return deviation / (2 * half) *
         (normal_integral((x + half) / deviation) - normal_integral((x - half) / deviation));
}

}  // namespace

ErrorCurve expected_errors(const ErrorPicture& picture, double rest) {
  ErrorCurve curve{};
  if (picture.spre_ratios.empty()) return curve;
  for (int i = 0; i < classes; ++i) {
    const double elements = picture.spre_ratios[static_cast<std::size_t>(i)];
    if (elements == 0) continue;
    const double half = std::sqrt(3 * (1 - class_share(i))), deviation = rest * class_deviation(i);
    double below = 0;
    for (int bin = 0; bin < bins; ++bin) {
      const double end = ErrorPicture::center(bin) + ErrorPicture::bin_width / 2;
      const double upto = bin + 1 == bins ? 1 : distribution(end, half, deviation);
      curve[static_cast<std::size_t>(bin)] += elements * (upto - below);
      below = upto;
    }
  }
  return curve;
}

double rest_of(const ErrorPicture& picture, double rms) {
  double elements = 0, others = 0;
  for (std::size_t i = 0; i < picture.spre_ratios.size(); ++i) {
    elements += picture.spre_ratios[i];
    others += picture.spre_ratios[i] * class_share(static_cast<int>(i));
  }
  if (others <= 0) return 1;
  const double rest = 1 - (1 - rms * rms) * elements / others;
  return std::isfinite(rest) ? std::sqrt(std::clamp(rest, 0.0, 1.0)) : 1;
}

ErrorBand band_about(const ErrorCurve& expected, std::int64_t columns) {
  // Measured with 100 seeds (evidence/judging.md, "The picture of errors").
  constexpr double same_row_correlation =
      0.01;                             // correlation of two elements of a row in the same bin
  constexpr double quantile = 3.67;     // normal quantile: 1 / 4,100 in both tails together
  constexpr double model_error = 0.01;  // error of the model, as a share of the expected count
  const double together =
      1 + same_row_correlation * static_cast<double>(std::max<std::int64_t>(0, columns - 1));
  ErrorBand band;
  for (std::size_t bin = 0; bin < expected.size(); ++bin) {
    // Small counts have a skewed distribution, so the bounds follow from Anscombe's root (1948).
    const double count = expected[bin] / together;
    const double root = 2 * std::sqrt(count + 0.375);
    const double low = std::max(0.0, root - quantile), high = root + quantile;
    band.low[bin] = std::max(0.0, (low * low / 4 - 0.375) * together - model_error * expected[bin]);
    band.high[bin] = (high * high / 4 - 0.375) * together + model_error * expected[bin];
  }
  return band;
}

int bins_outside(const ErrorPicture& picture, const ErrorBand& band) {
  int outside = 0;
  for (std::size_t bin = 0; bin < picture.histogram.size(); ++bin) {
    const double count = picture.histogram[bin];
    outside += count < band.low[bin] || count > band.high[bin] ? 1 : 0;
  }
  return outside;
}

}  // namespace plumbline
