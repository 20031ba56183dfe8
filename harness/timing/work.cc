// Counts visible pairs, and the keys that at least one row of a sample sees.
#include "harness/timing/work.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "harness/problem/dtype.h"
#include "harness/problem/geometry.h"

namespace plumbline {
namespace {

struct VisibleCounts {
  std::int64_t pairs = 0, rows = 0, keys = 0;  // rows that see a key, keys that a row sees
};

std::int64_t keys_by_mask_bits(const Geometry& g, std::int64_t sample) {
  std::vector<std::uint32_t> seen(static_cast<std::size_t>(g.mask_words), 0);
  const std::int64_t first = sample * g.problem().seq_q * g.mask_words;
  for (std::int64_t row = 0; row < g.length_q(sample); ++row) {
    for (std::int64_t word = 0; word < g.mask_words; ++word)
      seen[static_cast<std::size_t>(word)] |=
          g.mask_bits[static_cast<std::size_t>(first + row * g.mask_words + word)];
  }
  std::int64_t keys = 0;
  for (const std::uint32_t word : seen) keys += std::popcount(word);
  return keys;
}

// Returns the number of keys that the ranges cover together.
std::int64_t keys_by_ranges(std::vector<KeyRange> ranges) {
  std::ranges::sort(ranges, [](const KeyRange& a, const KeyRange& b) { return a.begin < b.begin; });
  std::int64_t keys = 0, end = 0;
  for (const KeyRange& range : ranges) {
    keys += std::max<std::int64_t>(0, range.end - std::max(range.begin, end));
    end = std::max(end, range.end);
  }
  return keys;
}

VisibleCounts count_visible(const Geometry& g, std::int64_t sample) {
  VisibleCounts seen;
  std::vector<KeyRange> ranges;
  for (std::int64_t row = 0; row < g.length_q(sample); ++row) {
    const std::int64_t visible = g.visible_count(sample, row);
    if (visible == 0) continue;
    seen.pairs += visible;
    ++seen.rows;
    ranges.push_back(g.visible_keys(sample, row));
  }
  seen.keys =
      g.mask_bits.empty() ? keys_by_ranges(std::move(ranges)) : keys_by_mask_bits(g, sample);
  return seen;
}

double bytes_of(std::int64_t vectors, std::int64_t heads, std::int64_t dim, DType dtype) {
  return static_cast<double>(vectors) * static_cast<double>(heads) * static_cast<double>(dim) *
         static_cast<double>(size_in_bytes(dtype));
}

}  // namespace

Work work_of(const Geometry& geometry) {
  const Problem& p = geometry.problem();
  const bool has_alibi = p.alibi != Alibi::none;
  Work work;
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    const VisibleCounts seen = count_visible(geometry, sample);
    const double pairs = static_cast<double>(seen.pairs) * static_cast<double>(p.heads_q);
    const double qk = p.is_merge() ? 0 : 2 * pairs * static_cast<double>(p.head_dim_qk);
    const double q = p.is_merge() ? 0 : bytes_of(seen.rows, p.heads_q, p.head_dim_qk, p.dtype);
    const double k = bytes_of(seen.keys, p.heads_kv, p.head_dim_qk, p.kv());
    const double v = bytes_of(seen.keys, p.heads_kv, p.head_dim_vo, p.kv());
    const double out = bytes_of(geometry.length_q(sample), p.heads_q, p.head_dim_vo, p.out());
    work.flops += qk + 2 * pairs * static_cast<double>(p.head_dim_vo);
    work.bytes += q + k + v + out;
    if (!has_alibi) work.min_flops += qk;
    work.min_bytes += q + (has_alibi ? 0 : k) + out;
  }
  return work;
}

}  // namespace plumbline
