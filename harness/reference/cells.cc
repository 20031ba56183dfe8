#include "harness/reference/cells.h"

#include <algorithm>
#include <limits>

namespace plumbline {

void CellBuilder::start_build(std::size_t labels) {
  const std::size_t wanted = std::bit_ceil(4 * labels + 4);
  if (slots_.size() < wanted || build_ == std::numeric_limits<std::uint32_t>::max()) {
    slots_.assign(std::max(wanted, slots_.size()), Slot{});
    build_ = 0;
  }
  ++build_;
  groups_ = 0;
  size_of_.assign(labels, 0);
  group_of_.resize(labels);
}

inline std::int32_t CellBuilder::find_or_add(std::uint64_t label) {
  const std::size_t mask = slots_.size() - 1;
  const int shift = 64 - std::countr_zero(slots_.size());
  // Fibonacci hashing: labels are runs of nearby integers.
  for (auto at = static_cast<std::size_t>(label * 0x9E3779B97F4A7C15u >> shift);; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    const bool is_free = slot.build != build_;
    if (!is_free && slot.label != label) continue;
    // No branch on is_free: about every other key opens a group, which no predictor foresees.
    slot = {label, build_, is_free ? groups_ : slot.group};
    groups_ += is_free;
    return slot.group;
  }
}

void CellBuilder::build(std::span<const std::uint64_t> labels, std::int64_t first_key, KeepCells keep, Cells& cells) {
  start_build(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    group_of_[i] = find_or_add(labels[i]);
    ++size_of_[static_cast<std::size_t>(group_of_[i])];
  }

  // No branch on what is kept: nothing foresees which groups have one key. Such a key is written behind the others, and cut off.
  const auto groups = static_cast<std::size_t>(groups_);
  const std::int32_t smallest_kept = keep == KeepCells::multi_key ? 2 : 1;
  const auto dropped = static_cast<std::int32_t>(labels.size());
  cells.offsets.resize(groups + 1);
  position_of_.resize(groups);
  std::int32_t total = 0;
  std::size_t kept_groups = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const bool is_kept = size_of_[g] >= smallest_kept;
    position_of_[g] = is_kept ? total : dropped;
    cells.offsets[kept_groups] = total;
    kept_groups += is_kept;
    total += is_kept ? size_of_[g] : 0;
  }
  cells.offsets.resize(kept_groups + 1);
  cells.offsets.back() = total;
  cells.keys.resize(labels.size() + 1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int32_t& position = position_of_[static_cast<std::size_t>(group_of_[i])];
    cells.keys[static_cast<std::size_t>(position++)] = static_cast<std::int32_t>(first_key + static_cast<std::int64_t>(i));
  }
  cells.keys.resize(static_cast<std::size_t>(total));
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

}  // namespace plumbline
