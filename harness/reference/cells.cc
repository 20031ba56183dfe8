#include "harness/reference/cells.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace plumbline {
namespace {

constexpr int fraction_bits = 52;
constexpr int phases = 8;
constexpr std::uint64_t subnormal_tag = std::uint64_t{1} << 63;  // the sign bit, free because t >= 0

// Fibonacci hashing: labels are runs of nearby integers.
std::size_t slot_of(std::uint64_t label, int shift) { return static_cast<std::size_t>(label * 0x9E3779B97F4A7C15u >> shift); }

}  // namespace

std::int32_t CellBuilder::find_or_add(std::uint64_t label) {
  const std::size_t mask = slots_.size() - 1;
  const int shift = 64 - std::countr_zero(slots_.size());
  for (std::size_t slot = slot_of(label, shift);; slot = (slot + 1) & mask) {
    std::int32_t& group = slots_[slot];
    if (group < 0) {
      group = static_cast<std::int32_t>(label_of_.size());
      label_of_.push_back(label);
      size_of_.push_back(0);
    }
    if (label_of_[static_cast<std::size_t>(group)] == label) return group;
  }
}

void CellBuilder::build(std::span<const std::uint64_t> labels, std::int64_t first_key, KeepCells keep, Cells& cells) {
  slots_.assign(std::bit_ceil(2 * labels.size() + 2), -1);
  label_of_.clear();
  size_of_.clear();
  group_of_.resize(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    group_of_[i] = find_or_add(labels[i]);
    ++size_of_[static_cast<std::size_t>(group_of_[i])];
  }

  cells.offsets.assign(1, 0);
  position_of_.assign(size_of_.size(), -1);
  for (std::size_t g = 0; g < size_of_.size(); ++g) {
    if (keep == KeepCells::multi_key && size_of_[g] < 2) continue;
    position_of_[g] = cells.offsets.back();
    cells.offsets.push_back(cells.offsets.back() + size_of_[g]);
  }
  cells.keys.resize(static_cast<std::size_t>(cells.offsets.back()));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int32_t& position = position_of_[static_cast<std::size_t>(group_of_[i])];
    if (position >= 0) cells.keys[static_cast<std::size_t>(position++)] = static_cast<std::int32_t>(first_key + static_cast<std::int64_t>(i));
  }
}

std::uint64_t p_cell(double t, const Model& model) {
  if (t < model.eta_p) return subnormal_tag;
  if (t < model.p_normal) return subnormal_tag + static_cast<std::uint64_t>(std::nearbyint(t / (model.eta_p / 4)));
  const int dropped = fraction_bits - (model.p_cell_bits - 1);
  return (std::bit_cast<std::uint64_t>(t) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
}

std::uint64_t s_cell(double s, const Model& model) {
  const int dropped = fraction_bits - (model.s_cell_bits - 1);
  return std::bit_cast<std::uint64_t>(s + 0.0) >> dropped;  // + 0.0: both zeros are one cell
}

std::uint64_t exp2_phase(double s_minus_max) {
  const double binades = s_minus_max * std::numbers::log2e;
  const double fraction = binades - std::floor(binades);
  return fraction >= 0 ? static_cast<std::uint64_t>(fraction * phases) : 0;  // NaN: -inf or NaN logits
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
