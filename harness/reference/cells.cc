#include "harness/reference/cells.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace plumbline {
namespace {

// Labels that span less than this many times their number are looked up directly: clearing the table then costs little.
constexpr std::uint64_t table_width_per_label = 16;

}  // namespace

// No branch on whether a label is new: about every other key opens a group, which no predictor foresees.
template <class Index>
void Grouping<Index>::group_by_table(std::span<const std::uint64_t> labels, std::uint64_t lowest, std::size_t width) {
  first_at_.assign(width, 0);
  // Local: the stores could change members, for all that the compiler knows.
  Index *table = first_at_.data(), *first_of = first_.data(), *sizes = size_.data();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Index& entry = table[labels[i] - lowest];
    // All ones for an entry of 0, spelt so that no compiler makes a branch of it.
    const std::uint32_t is_new = 0 - ((std::uint32_t{entry} - 1) >> 31);
    const auto first = static_cast<Index>(entry | (is_new & static_cast<std::uint32_t>(i + 1)));
    entry = first;
    first_of[i] = static_cast<Index>(first - 1);
    ++sizes[first - 1];
  }
}

template <class Index>
inline Index Grouping<Index>::find_or_add(std::uint64_t label, Index position) {
  const std::size_t mask = slots_.size() - 1;
  const int shift = 64 - std::countr_zero(slots_.size());
  // Fibonacci hashing: labels are runs of nearby integers.
  for (auto at = static_cast<std::size_t>(label * 0x9E3779B97F4A7C15u >> shift);; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    const bool is_free = slot.build != build_;
    if (!is_free && slot.label != label) continue;
    slot = {label, build_, is_free ? position : slot.first};
    return slot.first;
  }
}

template <class Index>
void Grouping<Index>::group_by_hash(std::span<const std::uint64_t> labels) {
  const std::size_t wanted = std::bit_ceil(2 * labels.size() + 2);
  if (slots_.size() < wanted || build_ == std::numeric_limits<std::uint32_t>::max()) {
    slots_.assign(std::max(wanted, slots_.size()), Slot{});
    build_ = 0;
  }
  ++build_;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    first_[i] = find_or_add(labels[i], static_cast<Index>(i));
    ++size_[first_[i]];
  }
}

template <class Index>
void Grouping<Index>::build(std::span<const std::uint64_t> labels, std::int64_t first_key, std::int32_t smallest_kept, Cells& cells) {
  first_.resize(labels.size());
  size_.assign(labels.size(), 0);
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for (const std::uint64_t label : labels) lowest = std::min(lowest, label), highest = std::max(highest, label);
  if (highest - lowest < table_width_per_label * labels.size()) {
    group_by_table(labels, lowest, static_cast<std::size_t>(highest - lowest) + 1);
  } else {
    group_by_hash(labels);
  }
  place(labels.size(), first_key, smallest_kept, cells);
}

// No branch on what is kept: nothing foresees which groups have one key. Such a key is written behind the others, and cut off.
template <class Index>
void Grouping<Index>::place(std::size_t labels, std::int64_t first_key, std::int32_t smallest_kept, Cells& cells) {
  if (keys_.size() <= labels) {
    for (auto* table : {&target_, &kept_, &keys_}) table->resize(labels + 1);
  }
  std::int32_t *targets = target_.data(), *kept = kept_.data(), *keys = keys_.data();
  const Index *sizes = size_.data(), *first_of = first_.data();
  std::size_t groups = 0;
  for (std::size_t i = 0; i < labels; ++i) {  // size 0: not the first of its group
    kept[groups] = static_cast<std::int32_t>(i);
    groups += static_cast<std::int32_t>(sizes[i]) >= smallest_kept;
  }
  std::fill(targets, targets + labels, static_cast<std::int32_t>(labels));

  // By size, where that is small.
  const auto size_of = [=](std::size_t group) { return static_cast<std::int32_t>(sizes[kept[group]]); };
  constexpr std::int32_t large = 16;
  std::array<std::int32_t, large + 1> next_cell{}, next_key{};
  for (std::size_t g = 0; g < groups; ++g) ++next_cell[static_cast<std::size_t>(std::min(size_of(g), large))];
  cells.twos = smallest_kept == 2 ? next_cell[2] : 0;
  cells.threes = smallest_kept == 2 ? next_cell[3] : 0;
  std::int32_t before = 0, keys_before = 0;
  for (std::size_t size = 0; size <= large; ++size) {
    next_key[size] = keys_before;
    keys_before += next_cell[size] * static_cast<std::int32_t>(size);
    before += std::exchange(next_cell[size], before);
  }
  cells.offsets.resize(groups + 1);
  std::int32_t total = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int32_t size = size_of(g);
    const auto order = static_cast<std::size_t>(std::min(size, large));
    targets[kept[g]] = next_key[order];
    cells.offsets[static_cast<std::size_t>(next_cell[order]++)] = next_key[order];
    next_key[order] += size;
    total += size;
  }
  cells.offsets[groups] = total;
  const auto first = static_cast<std::int32_t>(first_key);
  for (std::size_t i = 0; i < labels; ++i) keys[targets[first_of[i]]++] = first + static_cast<std::int32_t>(i);
  cells.keys.assign(keys, keys + total);
}

void CellBuilder::build(std::span<const std::uint64_t> labels, std::int64_t first_key, KeepCells keep, Cells& cells) {
  const std::int32_t smallest_kept = keep == KeepCells::multi_key ? 2 : 1;
  if (labels.size() < std::numeric_limits<std::uint16_t>::max()) {
    of_few_.build(labels, first_key, smallest_kept, cells);
  } else {
    of_many_.build(labels, first_key, smallest_kept, cells);
  }
}

CellSums cell_sums(const Cells& cells, const double* weights) {
  CellSums sums;
  for (std::int64_t c = 0; c < cells.count(); ++c) {
    double sum = 0;
    for (std::int32_t i = cells.offsets[static_cast<std::size_t>(c)]; i < cells.offsets[static_cast<std::size_t>(c + 1)]; ++i) {
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
  const std::int32_t after_twos = 2 * cells.twos, after_threes = after_twos + 3 * cells.threes;
  Weight pairs = 0;
#pragma omp simd reduction(+ : pairs)
  for (std::int32_t i = 0; i < after_twos; i += 2) pairs += weights[i] * weights[i + 1];
#pragma omp simd reduction(+ : pairs)
  for (std::int32_t i = after_twos; i < after_threes; i += 3) {
    pairs += weights[i] * weights[i + 1] + (weights[i] + weights[i + 1]) * weights[i + 2];
  }
  for (std::int64_t c = cells.twos + cells.threes; c < cells.count(); ++c) {
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
