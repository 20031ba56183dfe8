// Finds what share of a row's weights, or of a column of V, is one number.
#include "harness/reference/repeated_addends.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace plumbline {
namespace {

// The i-th sampled of n keys: multiples of the golden ratio, a stride that values do not repeat
// with.
std::int64_t sampled_key(std::int64_t i, std::int64_t n) {
  if (n <= most_sampled_keys) return i;
  const std::uint64_t fraction = static_cast<std::uint32_t>(i) * std::uint32_t{2654435761};
  return static_cast<std::int64_t>((fraction * static_cast<std::uint64_t>(n)) >> 32);
}

// False where no window of a width that values from 16 widths on are wide against can hold a
// quarter of the values: no eighth of a binade, nor what lies below, then holds an eighth.
bool may_repeat(std::span<const double> values, double width) {
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
double largest_share(std::span<double> values, double width) {
  std::sort(values.begin(), values.end());
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < values.size(); ++last) {
    while (values[last] - values[first] > width) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<double>(most) / static_cast<double>(values.size());
}

// Keys of the block, at most so many of those that a row sees.
struct SampledKeys {
  std::array<std::int32_t, most_sampled_keys> keys;
  std::size_t count;
  [[nodiscard]] std::span<const std::int32_t> all() const { return std::span(keys).first(count); }
};
SampledKeys sampled_keys(const RowBlock& block, std::int64_t row) {
  const std::int64_t n = block.count(row), begin = block.keys_of(row).begin;
  const std::vector<std::int32_t>* seen =
      block.seen.empty() ? nullptr : &block.seen[static_cast<std::size_t>(row)];
  SampledKeys sampled;
  sampled.count = static_cast<std::size_t>(std::min(n, most_sampled_keys));
  for (std::size_t i = 0; i < sampled.count; ++i) {
    const std::int64_t k = sampled_key(static_cast<std::int64_t>(i), n);
    sampled.keys[i] = seen == nullptr ? static_cast<std::int32_t>(begin + k)
                                      : (*seen)[static_cast<std::size_t>(k)];
  }
  return sampled;
}

}  // namespace

double repeated_share(const RowBlock& block, std::int64_t row) {
  const double* p = block.p_of(row);
  const SampledKeys sampled = sampled_keys(block, row);
  std::array<double, most_sampled_keys> buffer;
  std::size_t count = 0;
  for (const std::int32_t k : sampled.all()) {
    buffer[count] = p[k];
    count += p[k] >= u32 ? 1 : 0;
  }
  const std::span<double> values = std::span(buffer).first(count);
  constexpr double two_steps = 8 * u32;  // of p, whose sum is 1
  if (values.size() * 4 <= sampled.count || !may_repeat(values, two_steps)) return 0;
  const double share = largest_share(values, two_steps) * static_cast<double>(values.size()) /
                       static_cast<double>(sampled.count);
  return share > 0.25 ? share : 0;
}

std::vector<double> repeated_shares(const RowBlock& block, std::int64_t row) {
  const HeadData& head = *block.head;
  const SampledKeys sampled = sampled_keys(block, row);
  const std::span<const std::int32_t> keys = sampled.all();
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
