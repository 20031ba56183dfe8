// Finds what share of a row's weights, or of a column of V, is one number.
#include "harness/reference/repeated_addends.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace plumbline {
namespace {

// The i-th sampled of n keys: no stride that values might repeat with.
std::int64_t sampled_key(std::int64_t i, std::int64_t n) {
  return n <= most_sampled_keys
             ? i
             : static_cast<std::int64_t>(std::uint64_t(i) * 2654435761 % std::uint64_t(n));
}

// False where no window of a width that values from 16 widths on are wide against can hold a
// quarter of the values: no eighth of a binade, nor what lies below, then holds an eighth.
bool may_repeat(const std::vector<double>& values, double width) {
  constexpr std::size_t binades = 64, of_binade = 8;
  std::array<std::uint16_t, binades * of_binade + 1> counts{};
  for (const double value : values) {
    std::size_t bin = binades * of_binade;
    if (value >= 16 * width) {
      const auto eighth = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> 49);
      bin = std::min<std::size_t>(bin, static_cast<std::size_t>(std::max<std::int64_t>(
                                           0, 1024 * std::int64_t{of_binade} - 1 - eighth)));
    }
    if (++counts[bin] * std::size_t{8} >= values.size()) return true;
  }
  return false;
}

}  // namespace

double largest_share(std::vector<double>& values, double width) {
  std::sort(values.begin(), values.end());
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < values.size(); ++last) {
    while (values[last] - values[first] > width) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<double>(most) / static_cast<double>(values.size());
}

double repeated_share(const RowBlock& block, std::int64_t row) {
  const double* p = block.p_of(row);
  const std::int64_t n = block.count(row), sampled = std::min(n, most_sampled_keys);
  const std::vector<std::int32_t>* seen =
      block.seen.empty() ? nullptr : &block.seen[static_cast<std::size_t>(row)];
  const std::int64_t begin = block.keys_of(row).begin;
  std::vector<double> values(static_cast<std::size_t>(sampled));
  for (std::int64_t i = 0; i < sampled; ++i) {
    const std::int64_t k = sampled_key(i, n);
    values[static_cast<std::size_t>(i)] =
        p[seen == nullptr ? begin + k : (*seen)[static_cast<std::size_t>(k)]];
  }
  constexpr double two_steps = 8 * u32;  // of p, whose sum is 1
  if (!may_repeat(values, two_steps)) return 0;
  const double share = largest_share(values, two_steps);
  return share > 0.25 ? share : 0;
}

std::vector<double> repeated_shares(const HeadData& head) {
  const std::int64_t sampled = std::min(head.keys, most_sampled_keys);
  std::vector<double> shares, values(static_cast<std::size_t>(sampled));
  for (std::int64_t j = 0; j < head.dim_vo; ++j) {
    for (std::int64_t i = 0; i < sampled; ++i) {
      values[static_cast<std::size_t>(i)] =
          head.v.data()[sampled_key(i, head.keys) * head.dim_vo + j];
    }
    const double mean = head.center[static_cast<std::size_t>(j)] * head.v_unit;
    shares.push_back(
        largest_share(values, 4 * u32 * static_cast<double>(head.keys) * std::abs(mean)));
  }
  return shares;
}

}  // namespace plumbline
