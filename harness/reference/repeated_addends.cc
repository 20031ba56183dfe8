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

// The largest share of values within `width`; sorts them.
double largest_share(std::vector<double>& values, double width) {
  std::sort(values.begin(), values.end());
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < values.size(); ++last) {
    while (values[last] - values[first] > width) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<double>(most) / static_cast<double>(values.size());
}

// Keys of the block, at most so many of those that a row sees.
std::vector<std::int64_t> sampled_keys(const RowBlock& block, std::int64_t row) {
  const std::int64_t n = block.count(row), begin = block.keys_of(row).begin;
  const std::vector<std::int32_t>* seen =
      block.seen.empty() ? nullptr : &block.seen[static_cast<std::size_t>(row)];
  std::vector<std::int64_t> keys(static_cast<std::size_t>(std::min(n, most_sampled_keys)));
  for (std::int64_t i = 0; i < std::ssize(keys); ++i) {
    const std::int64_t k = sampled_key(i, n);
    keys[static_cast<std::size_t>(i)] =
        seen == nullptr ? begin + k : (*seen)[static_cast<std::size_t>(k)];
  }
  return keys;
}

}  // namespace

double repeated_share(const RowBlock& block, std::int64_t row) {
  const double* p = block.p_of(row);
  const std::vector<std::int64_t> keys = sampled_keys(block, row);
  std::vector<double> values;
  for (const std::int64_t k : keys) {
    if (p[k] >= u32) values.push_back(p[k]);
  }
  constexpr double two_steps = 8 * u32;  // of p, whose sum is 1
  if (values.size() * 4 <= keys.size() || !may_repeat(values, two_steps)) return 0;
  const double share = largest_share(values, two_steps) * static_cast<double>(values.size()) /
                       static_cast<double>(keys.size());
  return share > 0.25 ? share : 0;
}

std::vector<double> repeated_shares(const RowBlock& block, std::int64_t row) {
  const HeadData& head = *block.head;
  const std::vector<std::int64_t> keys = sampled_keys(block, row);
  const std::size_t probes = std::min<std::size_t>(16, keys.size());
  const double steps = 4 * u32 * static_cast<double>(block.count(row));
  std::vector<double> shares, values(keys.size());
  for (std::int64_t j = 0; j < head.dim_vo; ++j) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      values[i] = head.v.data()[(block.first_key + keys[i]) * head.dim_vo + j];
    const double width = steps * std::abs(block.o.data()[row * head.dim_vo + j]);
    std::ptrdiff_t most = 0;
    for (std::size_t probe = 0; probe < probes; ++probe) {
      const double of_probe = values[probe * keys.size() / probes];
      most = std::max(most, std::count_if(values.begin(), values.end(), [=](double value) {
                        return std::abs(value - of_probe) <= width;
                      }));
    }
    shares.push_back(static_cast<double>(most) / static_cast<double>(keys.size()));
  }
  return shares;
}

}  // namespace plumbline
