// The terms of spre^2, the LSE's variance and the bound of a block of rows.
// docs/judging-formulas.md has the formulas, and "Bounded scales" there what may stand for them.
// Results are [R, ld] in v_unit.
#pragma once

#include "harness/reference/column_passes.h"
#include "harness/reference/logit_errors.h"
#include "harness/reference/repeated_addends.h"
#include "harness/reference/row_cells.h"

namespace plumbline {

// Of a variance: 2.5e-5 of sigma. A bound that adds no more than this to TP stands for the term
// that it bounds.
inline constexpr double negligible_share = 5e-5;

// The block at hand, and the sums over its keys that several terms are made of.
struct BlockSums {
  explicit BlockSums(const Model& of) : model(of), logits(of) {}

  std::size_t elements() const { return static_cast<std::size_t>(block->rows * block->head->ld); }

  const Model& model;
  const RowBlock* block = nullptr;
  LogitErrors logits;
  std::vector<TiedKeys> tied;         // [R] by cells of P
  std::vector<RowRounding> rounding;  // [R]
  Buffer<double> shared_error;        // [R, ld] T_j, 0 but in flat rows; empty where none is
  std::vector<double> repeated_p;     // [R] S_t, 0 where few are
  std::vector<std::vector<double>> repeated_v;  // [R][dim_vo] S_vj; empty where S_t is 0
  Buffer<float> p_squared;    // [R, ld] sum p_k^2 v_kj^2, which p_rounding() leaves
  Buffer<float> range;        // [R, ld] R_j, which find_ranges() leaves
  TruncationSums truncation;  // likewise, where sums round toward zero
};

// Sums over weights and V or V - O; kept for its memory.
struct Moments {
  // What sharing a cell adds to the sum of the squares of the rows' tied weights times V, or V - O.
  void add_excess(const BlockSums& sums, std::span<const std::int64_t> rows, bool about_o,
                  Buffer<double>& result);

  CenteredMoment centered;
  Buffer<float> first;
  Buffer<double> second;
  Shift shift;
  Buffer<float> pairs;
};

// TP. With a denominator from the rounded P the weights sum to 1, and only v - o carries error.
void p_rounding(BlockSums& sums, Moments& moments, Buffer<double>& result);
// TL, from TP.
void logit_error(BlockSums& sums, Moments& moments, const Buffer<double>& p_variance,
                 Buffer<double>& result);
// R_j, exact where the variance needs it.
void find_ranges(BlockSums& sums, const Buffer<double>& p_variance);
// TA, and TR where partials are rounded.
void accumulation(const BlockSums& sums, Buffer<double>& result, Buffer<double>& partials);

// TS, with that of the tanh, and TE; and their parts of lse_sigma^2.
class SharedRoundings {
 public:
  void find(const BlockSums& sums, Buffer<double>& of_s, Buffer<double>& of_exp2);
  // Of an LSE made of keys with weights p, and of the sink where it is part of it.
  void add_to_lse(const BlockSums& sums, std::int64_t row, const double* p, const Sink* sink,
                  double& variance);

 private:
  void weigh(SharedRounding rounding, const BlockSums& sums, std::int64_t row, const double* p,
             const Sink* sink);

  RowCells row_cells_;
  Cells cells_;
  std::vector<double> weights_;  // [stride + 1], the last that of the sink
  Buffer<float> weights32_, coherent_, independent_;
  Shift shift_;
};

double lse_variance(BlockSums& sums, SharedRoundings& shared, std::int64_t row);

// Every rounding at its largest and all of one sign, |v - o| <= |v| + |o|. Logit errors enter with
// their standard deviation. Destroys sd_k.
void worst_case(BlockSums& sums, Moments& moments, Buffer<double>& result);

}  // namespace plumbline
