// Cells: keys with values so close that they share one rounding error. Errors inside a cell add
// linearly, between cells in quadrature.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "harness/reference/model.h"

namespace plumbline {

// Keys sorted by cell: cell c holds keys[offsets[c]] .. keys[offsets[c + 1] - 1], in key order.
struct Cells {
  std::vector<std::int32_t> keys;
  std::vector<std::int32_t> offsets{0};
  // Numbers of cells of two keys, which come first, and of three keys, which follow. Both are 0 if
  // cells of one key are kept.
  std::int32_t pair_cells = 0, triple_cells = 0;
  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  bool empty() const { return keys.empty(); }
};

// Keys of a row that share a cell, with their weights in the current sum.
struct TiedKeys {
  Cells cells;                 // of at least two keys
  std::vector<float> weights;  // parallel to cells.keys, in units of sqrt(unit_squared)
  double unit_squared = 1;

  // Sets the weights to of_key(k), which is in units of sqrt(unit).
  template <class Weight>
  void weigh(double unit, Weight of_key) {
    unit_squared = unit;
    weights.resize(cells.keys.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(of_key(cells.keys[i]));
  }
};

enum class KeepCells { all, multi_key };  // multi_key drops cells of one key

// Groups equal labels. Index is the type of group numbers. A 16-bit Index keeps the tables of short
// rows in the L1 cache.
template <class Index>
class Grouping {
 public:
  void build(std::span<const std::uint64_t> labels, std::int64_t first_key,
             std::int32_t smallest_kept, Cells& cells);

 private:
  struct Slot {
    std::uint64_t label = 0;
    // The slot is free unless this is the current build. Clearing all slots for each build would
    // cost more than filling them.
    std::uint32_t build = 0;
    Index group = 0;
  };
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::uint32_t build_ = 0;
  // The group of each label, numbered by the label itself or by the first key that has it.
  std::vector<Index> group_;
  std::vector<Index> size_;  // per group, 0 for unused numbers
  // Per group: 1 + the position of its next key, or 0 if it has no key yet.
  std::vector<Index> next_in_group_;
  std::vector<std::uint32_t> kept_;  // labels whose groups are kept

  void number_by_label(std::span<const std::uint64_t> labels, std::uint64_t lowest,
                       std::size_t width);
  void number_by_hash(std::span<const std::uint64_t> labels);
  Index find_or_add(std::uint64_t label, Index position);
  void place(std::int64_t first_key, std::int32_t smallest_kept, Cells& cells);
};

// Groups equal labels. Cells are ordered by size, so that loops over their keys are predictable.
// Cells of one size, and all cells of 16 or more keys, are ordered by their first key. Keeps its
// tables between calls.
class CellBuilder {
 public:
  // labels[i] belongs to key first_key + i.
  void build(std::span<const std::uint64_t> labels, std::int64_t first_key, KeepCells keep,
             Cells& cells);

 private:
  Grouping<std::uint16_t> small_grouping_;
  Grouping<std::uint32_t> large_grouping_;
};

// Rounds a positive number and drops the last `dropped` bits.
inline std::uint64_t normal_p_cell(double t, int dropped) {
  return (std::bit_cast<std::uint64_t>(t) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
}
// Returns the cell of P: of t = exp(s - m), or of p if P is normalised. All values below eta_p,
// half the smallest subnormal, round to 0 and are one cell. For subnormal P, cells are steps of
// eta_p / 4. Above, P is rounded to p_cell_bits significand bits.
inline std::uint64_t p_cell(double t, const Model& model) {
  constexpr std::uint64_t subnormal = std::uint64_t{1} << 63;  // the sign bit, free because t >= 0
  if (t < model.eta_p) return subnormal;
  if (t < model.p_normal)
    return subnormal + static_cast<std::uint64_t>(std::nearbyint(t / (model.eta_p / 4)));
  return normal_p_cell(t, 53 - model.p_cell_bits);
}
// Returns the cell of a number that the kernel rounds to S's dtype. Truncates it to s_cell_bits, so
// that no cell crosses a rounding boundary of S.
inline std::uint64_t s_cell(double s, const Model& model) {
  // + 0.0 puts both zeros into one cell
  return std::bit_cast<std::uint64_t>(s + 0.0) >> (53 - model.s_cell_bits);
}
// Returns the cell of a softcap's argument: its sign and its eighth of a binade. Within a cell, the
// relative error of an approximate tanh counts as constant.
inline std::uint64_t tanh_cell(double argument) {
  constexpr int dropped = 53 - 4;
  return std::bit_cast<std::uint64_t>(argument + 0.0) >> dropped;
}
// Returns frac((s - m) / ln 2), the argument of a polynomial exp2; 0 if s is -inf or NaN.
inline double exp2_fraction(double s_minus_max) {
  const double binades = s_minus_max * std::numbers::log2e;
  const double fraction = binades - std::floor(binades);
  return fraction >= 0 ? fraction : 0;
}
// Returns the eighth of [0, 1) that contains the fraction. Within an eighth, the error of a
// polynomial exp2 hardly changes sign.
inline std::uint64_t exp2_phase(double s_minus_max) {
  return static_cast<std::uint64_t>(exp2_fraction(s_minus_max) * 8);
}
// Returns the fraction as a multiple of 2^-16, to nearest. Within such a step, the relative error
// of a polynomial exp2 counts as constant.
inline std::uint64_t exp2_step(double s_minus_max) {
  return static_cast<std::uint64_t>(std::nearbyint(exp2_fraction(s_minus_max) * 0x1p16));
}

// Sums over cells of (sum_k w_k)^2 and, over the same keys, of w_k^2. Weights are indexed by key.
struct CellSums {
  double coherent = 0, independent = 0;
  double excess() const { return coherent <= independent ? 0 : coherent - independent; }
};
CellSums cell_sums(const Cells& cells, const double* weights);

// Returns the sum of w_a w_b over the pairs of keys that share a cell. `weights`, float or double,
// is parallel to cells.keys. Float weights must all have the same sign.
template <class Weight>
double pairs_in_cells(const Cells& cells, const Weight* weights);

}  // namespace plumbline
