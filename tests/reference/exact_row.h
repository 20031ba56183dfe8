// The scales of legal error of one row, with every sum over keys as docs/judging-formulas.md writes
// it. Tests compare bounded_scales.h with these.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "harness/reference/exact_scales.h"

namespace plumbline {

struct SingleRow {
  using Numbers = std::vector<double>;
  using Groups = std::vector<std::vector<std::size_t>>;  // keys that share a cell

  // Copies row `row` of the block after it is computed. The model must outlive this object.
  SingleRow(const Model& of, const RowBlock& block, std::int64_t row, const RowRounding& local);

  const Model& model;
  std::size_t keys = 0;            // n, the visible keys, in key order
  Numbers x, slope, capped, s, p;  // x_k, slope_k, c_k, s_k, p_k
  Numbers n2;                      // a^2 n2_k
  Numbers sd, beta;
  Numbers unrounded, rounded_size, held;  // if S is rounded, as in RowBlock
  double held_max = 0;
  std::vector<Numbers> tie_shifts;  // changes of s_k, for each element of Q near a tie
  RowRounding rounding;             // includes errors of the block's keys
  Numbers errors;                   // errors of p_k in a flat row, otherwise empty
  double repeated_p = 0;            // S_t
  Numbers repeated_v;               // [D] S_vj
  std::vector<Numbers> v;           // [D][n]
  Numbers o;                        // [D]
  Groups p_cells;
  std::optional<Sink> sink;
  double m = 0, l = 0, lse = 0, row_bias = 0;
  double dims = 0, cap = 0, v_unit = 1;  // D, c, a power of two near max |v|
  bool scaled_outside = false;           // a kernel multiplies its sums by scales
  double factor_of_sums = 1;             // these scales
};

// Returns TP, TL, TS, TE, TA and TR of a column, indexed by Rounding. The output's entry is 0; the
// caller adds the output.
std::array<double, rounding_count> exact_variances(const SingleRow& row, std::size_t column);
// Returns T_j of a flat row, otherwise 0.
double exact_shared_error(const SingleRow& row, std::size_t column);
// Returns the worst-case |error| before output rounding.
double exact_bound(const SingleRow& row, std::size_t column);
double exact_lse_variance(const SingleRow& row);

}  // namespace plumbline
