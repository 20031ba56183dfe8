// Cells: keys whose values lie so close that their rounding errors are one and the same draw.
// Errors inside a cell add linearly, between cells in quadrature.
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
  // The first cells: how many have two keys, and how many after them three; or 0 and 0.
  std::int32_t pair_cells = 0, triple_cells = 0;
  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  bool empty() const { return keys.empty(); }
};

// Keys of a row that share a cell, and their weights in the sum at hand.
struct TiedKeys {
  Cells cells;                 // of two keys and more
  std::vector<float> weights;  // beside cells.keys, in units of the root of
  double unit_squared = 1;

  // of_key(k) in units of the root of `unit`.
  template <class Weight>
  void weigh(double unit, Weight of_key) {
    unit_squared = unit;
    weights.resize(cells.keys.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(of_key(cells.keys[i]));
  }
};

enum class KeepCells { all, multi_key };  // multi_key: cells of one key are dropped

// Groups equal labels. Index numbers the groups: 16 bits where they suffice, so that the tables
// stay in the first-level cache.
template <class Index>
class Grouping {
 public:
  void build(std::span<const std::uint64_t> labels, std::int64_t first_key,
             std::int32_t smallest_kept, Cells& cells);

 private:
  struct Slot {
    std::uint64_t label = 0;
    // free unless of the current build: clearing would cost more than filling
    std::uint32_t build = 0;
    Index group = 0;
  };
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::uint32_t build_ = 0;
  // per label; a group is numbered by its label, or by the first that has it
  std::vector<Index> group_;
  std::vector<Index> size_;  // per group, 0 for numbers that are no group
  // per group: 1 + where its next key goes; 0: it has no key yet
  std::vector<Index> next_in_group_;
  std::vector<std::uint32_t> kept_;  // the labels whose groups are kept

  void number_by_label(std::span<const std::uint64_t> labels, std::uint64_t lowest,
                       std::size_t width);
  void number_by_hash(std::span<const std::uint64_t> labels);
  Index find_or_add(std::uint64_t label, Index position);
  void place(std::int64_t first_key, std::int32_t smallest_kept, Cells& cells);
};

// Groups equal labels. Cells are ordered by size, so that loops over their keys are foreseen, and
// those of one size, or of 16 keys and more, by their first key. Holds its tables between calls.
class CellBuilder {
 public:
  // labels[i] belongs to key first_key + i.
  void build(std::span<const std::uint64_t> labels, std::int64_t first_key, KeepCells keep,
             Cells& cells);

 private:
  Grouping<std::uint16_t> of_few_;
  Grouping<std::uint32_t> of_many_;
};

// A positive number rounded, its last `dropped` bits cut off.
inline std::uint64_t normal_p_cell(double t, int dropped) {
  return (std::bit_cast<std::uint64_t>(t) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
}
// The cell of an unnormalised P value t = exp(s - m): one cell below eta; steps of eta/4 where P is
// subnormal; above, t rounded to p_cell_bits significand bits.
inline std::uint64_t p_cell(double t, const Model& model) {
  constexpr std::uint64_t subnormal = std::uint64_t{1} << 63;  // the sign bit, free because t >= 0
  if (t < model.eta_p) return subnormal;
  if (t < model.p_normal)
    return subnormal + static_cast<std::uint64_t>(std::nearbyint(t / (model.eta_p / 4)));
  return normal_p_cell(t, 53 - model.p_cell_bits);
}
// t where S is rounded first: keys of one rounded logit have one t, and so one rounding of P.
inline double t_of_rounded(double s, double m, const Model& model) {
  return std::exp(round_to(s, model.s_rounded) - round_to(m, model.s_rounded));
}
// The cell of a logit that is rounded to S's dtype: truncated, not rounded, to s_cell_bits, so that
// the edges of cells lie on the boundaries of rounding.
inline std::uint64_t s_cell(double s, const Model& model) {
  // + 0.0: both zeros are one cell
  return std::bit_cast<std::uint64_t>(s + 0.0) >> (53 - model.s_cell_bits);
}
// The eighth of a binade of a softcap's argument, with its sign: where an approximate tanh makes
// one and the same relative error.
inline std::uint64_t tanh_cell(double argument) {
  constexpr int dropped = 53 - 4;
  return std::bit_cast<std::uint64_t>(argument + 0.0) >> dropped;
}
// The eighth of a binade in which s - m lies: where a polynomial exp2 makes one and the same
// relative error.
inline std::uint64_t exp2_phase(double s_minus_max) {
  const double binades = s_minus_max * std::numbers::log2e;
  const double fraction = binades - std::floor(binades);
  return fraction >= 0 ? static_cast<std::uint64_t>(fraction * 8) : 0;  // NaN: -inf or NaN logits
}

// sum over cells of (sum_k w_k)^2, and sum over the same keys of w_k^2; weights are indexed by key.
struct CellSums {
  double coherent = 0, independent = 0;
  double excess() const { return coherent <= independent ? 0 : coherent - independent; }
};
CellSums cell_sums(const Cells& cells, const double* weights);

// Sum over the pairs of keys that share a cell of their weights' product; weights, float or double,
// stand beside cells.keys. float: of one sign.
template <class Weight>
double pairs_in_cells(const Cells& cells, const Weight* weights);

}  // namespace plumbline
