// Splits a series into levels by binary segmentation.
#include "harness/timing/level_changes.h"

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

constexpr std::size_t shortest_level = 5, shortest_last_level = 4;
// Difference of two means, in its standard deviations. The largest difference over 50 splits
// exceeds this in 1 of 100,000 series of white noise, and in 1 of 50 of AR(1) noise with
// coefficient 0.4.
constexpr double min_difference = 5.0;
// ln: 0.05 %. No clock known to us resolves smaller differences of levels.
constexpr double min_noise_ln = 0.0005;
// The standard deviation of the median of three normal values is 0.670 of that of one.
constexpr double median_of_three = 0.670;

double middle(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Removes single spikes and keeps the place of a step.
std::vector<double> without_spikes(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 1; i + 1 < values.size(); ++i)
    result[i] = middle(values[i - 1], values[i], values[i + 1]);
  result.front() = middle(values[0], values[1], values[2]);
  result.back() = middle(values[values.size() - 3], values[values.size() - 2], values.back());
  return result;
}

class Segmentation {
 public:
  explicit Segmentation(std::span<const double> values)
      : size_(values.size()), sum_(size_ + 1), squares_(size_ + 1) {
    const std::vector<double> smooth = without_spikes(values);
    for (std::size_t i = 0; i < size_; ++i) {
      const double x = smooth[i] - smooth.front();  // avoids cancellation
      sum_[i + 1] = sum_[i] + x;
      squares_[i + 1] = squares_[i] + x * x;
    }
  }

  void split(std::size_t begin, std::size_t end, std::vector<std::size_t>& changes) const {
    const std::size_t last = end == size_ ? shortest_last_level : shortest_level;
    if (end - begin < shortest_level + last) return;
    double best = 0;
    std::size_t at = 0;
    for (std::size_t k = begin + shortest_level; k + last <= end; ++k) {
      if (const double now = difference(begin, k, end); now > best) best = now, at = k;
    }
    // Few values estimate the noise poorly.
    const double unsure = 1 + 10 / static_cast<double>(end - begin);
    if (best < min_difference * std::sqrt(unsure)) return;
    split(begin, at, changes);
    changes.push_back(at);
    split(at, end, changes);
  }

 private:
  double mean(std::size_t begin, std::size_t end) const {
    return (sum_[end] - sum_[begin]) / static_cast<double>(end - begin);
  }
  double scatter(std::size_t begin, std::size_t end) const {
    const double sum = sum_[end] - sum_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }

  // Returns the difference between the means of the two sides, in standard deviations.
  double difference(std::size_t begin, std::size_t at, std::size_t end) const {
    const double left = static_cast<double>(at - begin), right = static_cast<double>(end - at);
    const double within = scatter(begin, at) + scatter(at, end);
    const double noise = std::max(
        min_noise_ln, std::sqrt(std::max(0.0, within) / (left + right - 2)) / median_of_three);
    return std::abs(mean(begin, at) - mean(at, end)) / (noise * std::sqrt(1 / left + 1 / right));
  }

  std::size_t size_;
  std::vector<double> sum_, squares_;  // sums over the first i values
};

}  // namespace

std::vector<std::size_t> level_changes(std::span<const double> values) {
  std::vector<std::size_t> changes;
  if (values.size() < shortest_level + shortest_last_level) return changes;
  Segmentation(values).split(0, values.size(), changes);
  return changes;
}

}  // namespace plumbline
