// Groups the keys of a row by label, with a table or a hash, and sums weights over the groups.
#include "harness/reference/cells.h"

#include <algorithm>
#include <array>
#include <limits>

namespace plumbline {
namespace {

// If the labels span less than this many times their count, they serve as group numbers. Clearing
// tables with an entry for each number is then cheaper than looking up each label.
constexpr std::uint64_t span_per_label = 8;

}  // namespace

template <class Index>
void Grouping<Index>::number_by_label(std::span<const std::uint64_t> labels, std::uint64_t lowest,
                                      std::size_t width) {
  size_.assign(width, 0);
  // Local copies, because the compiler must assume that the stores change members.
  Index *groups = group_.data(), *sizes = size_.data();
  for (std::size_t i = 0; i < labels.size(); ++i)
    groups[i] = static_cast<Index>(labels[i] - lowest);
  for (std::size_t i = 0; i < labels.size(); ++i) ++sizes[groups[i]];
}

template <class Index>
inline Index Grouping<Index>::find_or_add(std::uint64_t label, Index position) {
  const std::size_t mask = slots_.size() - 1;
  const int shift = 64 - std::countr_zero(slots_.size());
  // Fibonacci hashing, because labels are runs of nearby integers.
  for (auto at = static_cast<std::size_t>(label * 0x9E3779B97F4A7C15u >> shift);;
       at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    const bool is_free = slot.build != build_;
    if (!is_free && slot.label != label) continue;
    slot = {label, build_, is_free ? position : slot.group};
    return slot.group;
  }
}

template <class Index>
void Grouping<Index>::number_by_hash(std::span<const std::uint64_t> labels) {
  size_.assign(labels.size(), 0);
  const std::size_t wanted = std::bit_ceil(2 * labels.size() + 2);
  if (slots_.size() < wanted || build_ == std::numeric_limits<std::uint32_t>::max()) {
    slots_.assign(std::max(wanted, slots_.size()), Slot{});
    build_ = 0;
  }
  ++build_;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    group_[i] = find_or_add(labels[i], static_cast<Index>(i));
    ++size_[group_[i]];
  }
}

template <class Index>
void Grouping<Index>::build(std::span<const std::uint64_t> labels, std::int64_t first_key,
                            std::int32_t smallest_kept, Cells& cells) {
  group_.resize(labels.size());
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for (const std::uint64_t label : labels)
    lowest = std::min(lowest, label), highest = std::max(highest, label);
  const std::uint64_t most =
      std::min<std::uint64_t>(span_per_label * labels.size(), std::numeric_limits<Index>::max());
  if (highest - lowest < most) {
    number_by_label(labels, lowest, static_cast<std::size_t>(highest - lowest) + 1);
  } else {
    number_by_hash(labels);
  }
  place(first_key, smallest_kept, cells);
}

// Does not branch on which groups are kept or which keys open a group, because neither is
// predictable.
template <class Index>
void Grouping<Index>::place(std::int64_t first_key, std::int32_t smallest_kept, Cells& cells) {
  const std::size_t labels = group_.size();
  if (kept_.size() < labels) kept_.resize(labels);
  std::uint32_t* kept = kept_.data();
  const Index *sizes = size_.data(), *group_of = group_.data();
  std::size_t keys = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    kept[keys] = static_cast<std::uint32_t>(i);
    keys += static_cast<std::int32_t>(sizes[group_of[i]]) >= smallest_kept;
  }

  // Count keys by the size of their group, with all large groups together. Successive keys use
  // separate counters, because an increment waits for the previous increment of the same counter.
  constexpr std::uint32_t large = 16;
  const auto size_of = [=](std::size_t i) {
    return static_cast<std::uint32_t>(sizes[group_of[kept[i]]]);
  };
  constexpr std::size_t apart = 4;
  std::array<std::array<std::uint32_t, large + 1>, apart> counts{};
  for (std::size_t i = 0; i < keys; ++i) ++counts[i % apart][std::min(size_of(i), large)];

  std::array<std::uint32_t, large + 1> next_key{};
  std::uint32_t before = 0;
  cells.offsets.clear();
  for (std::uint32_t size = 1; size <= large; ++size) {
    next_key[size] = before;
    for (const auto& count : counts) before += count[size];
    if (size == large) break;
    for (std::uint32_t key = next_key[size]; key < before; key += size)
      cells.offsets.push_back(static_cast<std::int32_t>(key));
    const std::uint32_t groups = (before - next_key[size]) / size;
    if (size == 2) cells.pair_cells = smallest_kept == 2 ? static_cast<std::int32_t>(groups) : 0;
    if (size == 3) cells.triple_cells = smallest_kept == 2 ? static_cast<std::int32_t>(groups) : 0;
  }

  next_in_group_.assign(size_.size(), 0);
  Index* next_in_group = next_in_group_.data();
  cells.keys.resize(keys);
  std::int32_t* placed = cells.keys.data();
  for (std::size_t i = 0; i < keys; ++i) {
    const std::uint32_t size = size_of(i), next = next_in_group[group_of[kept[i]]];
    std::uint32_t& of_size = next_key[std::min(size, large)];
    const std::uint32_t is_new = 0 - ((next - 1) >> 31);  // all ones if next is 0
    if (size >= large && is_new != 0) cells.offsets.push_back(static_cast<std::int32_t>(of_size));
    const std::uint32_t at = next | (is_new & (of_size + 1));  // 1 + the position
    of_size += is_new & size;
    placed[at - 1] = static_cast<std::int32_t>(first_key) + static_cast<std::int32_t>(kept[i]);
    next_in_group[group_of[kept[i]]] = static_cast<Index>(at + 1);
  }
  cells.offsets.push_back(static_cast<std::int32_t>(keys));
}

void CellBuilder::build(std::span<const std::uint64_t> labels, std::int64_t first_key,
                        KeepCells keep, Cells& cells) {
  const std::int32_t smallest_kept = keep == KeepCells::multi_key ? 2 : 1;
  if (labels.size() < std::numeric_limits<std::uint16_t>::max()) {
    small_grouping_.build(labels, first_key, smallest_kept, cells);
  } else {
    large_grouping_.build(labels, first_key, smallest_kept, cells);
  }
}

CellSums cell_sums(const Cells& cells, const double* weights) {
  CellSums sums;
  for (std::int64_t c = 0; c < cells.count(); ++c) {
    double sum = 0;
    for (std::int32_t i = cells.offsets[static_cast<std::size_t>(c)];
         i < cells.offsets[static_cast<std::size_t>(c + 1)]; ++i) {
      const double w = weights[cells.keys[static_cast<std::size_t>(i)]];
      sum += w;
      sums.independent += w * w;
    }
    sums.coherent += sum * sum;
  }
  return sums;
}

template <class Weight>
double pairs_in_cells(const Cells& cells, const Weight* weights) {
  const std::int32_t* offsets = cells.offsets.data();
  const std::int32_t after_pairs = 2 * cells.pair_cells,
                     after_triples = after_pairs + 3 * cells.triple_cells;
  Weight pairs = 0;
#pragma omp simd reduction(+ : pairs)
  for (std::int32_t i = 0; i < after_pairs; i += 2) pairs += weights[i] * weights[i + 1];
#pragma omp simd reduction(+ : pairs)
  for (std::int32_t i = after_pairs; i < after_triples; i += 3) {
    pairs += weights[i] * weights[i + 1] + (weights[i] + weights[i + 1]) * weights[i + 2];
  }
  for (std::int64_t c = cells.pair_cells + cells.triple_cells; c < cells.count(); ++c) {
    Weight before = weights[offsets[c]];
    for (std::int32_t i = offsets[c] + 1; i < offsets[c + 1]; ++i) {
      pairs += before * weights[i];
      before += weights[i];
    }
  }
  return pairs;
}

template double pairs_in_cells(const Cells& cells, const float* weights);
template double pairs_in_cells(const Cells& cells, const double* weights);

}  // namespace plumbline
