// Finds the largest share of nearly equal numbers among a row's weights, or in a column of V.
#include "harness/reference/repeated_addends.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace plumbline {
namespace {

// Returns the i-th sample of n keys. The stride is n divided by the golden ratio, so that samples
// do not follow a period of the values.
std::int64_t sampled_key(std::int64_t i, std::int64_t n) {
  if (n <= max_sampled_keys) return i;
  const std::uint64_t fraction = static_cast<std::uint32_t>(i) * std::uint32_t{2654435761};
  return static_cast<std::int64_t>((fraction * static_cast<std::uint64_t>(n)) >> 32);
}

constexpr double two_steps = 8 * u32;  // in p, whose sum is 1

// Returns true if a window of two steps may hold a quarter of the values, which are at most 1.
// Counts values above 16 window widths in eighths of a binade, and smaller ones together. A window
// lies within two neighbouring bins.
bool may_repeat(std::span<const double> values) {
  constexpr auto eighth_of = [](double value) {
    return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> 49);
  };
  constexpr std::int64_t below = eighth_of(16 * two_steps) - 1, bins = eighth_of(1) - below + 1;
  static_assert(max_sampled_keys < 256);
  std::array<std::uint8_t, static_cast<std::size_t>(bins) + 1> counts{};
  for (const double value : values)
    ++counts.data()[std::clamp<std::int64_t>(eighth_of(value) - below, 0, bins - 1)];
  unsigned most = 0;
  for (std::size_t bin = 0; bin + 1 < counts.size(); ++bin)
    most = std::max<unsigned>(most, std::uint8_t(counts[bin] + counts[bin + 1]));
  return 4 * most >= values.size();
}

// Returns the largest share of values in one window of two steps. Sorts the values.
double largest_share(std::span<double> values) {
  std::ranges::sort(values);
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < values.size(); ++last) {
    while (values[last] - values[first] > two_steps) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<double>(most) / static_cast<double>(values.size());
}

// Keys of the block: at most max_sampled_keys of those that a row sees.
struct SampledKeys {
  std::array<std::int32_t, max_sampled_keys> keys;
  std::size_t count;
  [[nodiscard]] std::span<const std::int32_t> all() const { return std::span(keys).first(count); }
};
SampledKeys sampled_keys(const RowBlock& block, std::int64_t row) {
  const std::int64_t n = block.count(row), begin = block.keys_of(row).begin;
  const std::vector<std::int32_t>* seen =
      block.seen.empty() ? nullptr : &block.seen[static_cast<std::size_t>(row)];
  SampledKeys sampled;
  sampled.count = static_cast<std::size_t>(std::min(n, max_sampled_keys));
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
  std::array<double, max_sampled_keys> buffer;
  std::size_t count = 0;
  for (const std::int32_t k : sampled.all()) {
    buffer[count] = p[k];
    count += p[k] >= u32 ? 1 : 0;
  }
  const std::span<double> values = std::span(buffer).first(count);
  if (values.size() * 4 <= sampled.count || !may_repeat(values)) return 0;
  const double share = largest_share(values) * static_cast<double>(values.size()) /
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
      most = std::max(most, std::ranges::count_if(values, [=](double value) {
                        return std::abs(value - of_probe) <= width;
                      }));
    }
    shares.push_back(static_cast<double>(most) / static_cast<double>(keys.size()));
  }
  return shares;
}

}  // namespace plumbline
