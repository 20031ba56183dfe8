// The variance terms of spre^2 and of the LSE, and the worst-case |error|, of a block of rows.
// docs/judging-formulas.md has the formulas and, in "Bounded scales", what may replace them.
// Results are [R, ld] in units of v_unit.
#pragma once

#include "harness/reference/column_passes.h"
#include "harness/reference/logit_errors.h"
#include "harness/reference/repeated_addends.h"
#include "harness/reference/row_cells.h"

namespace plumbline {

// A bound of a term replaces the term if the bound is at most this share of TP. This raises spre by
// at most 2.5e-5 of its value.
inline constexpr double negligible_share = 5e-5;

// The current block, and the sums over its keys that several terms use.
struct BlockSums {
  explicit BlockSums(const Model& of) : model(of), logits(of) {}

  std::size_t elements() const { return static_cast<std::size_t>(block->rows * block->head->ld); }

  const Model& model;
  const RowBlock* block = nullptr;
  LogitErrors logits;
  std::vector<TiedKeys> tied;         // [R] by cells of P
  std::vector<RowRounding> rounding;  // [R]
  Buffer<double> shared_error;        // [R, ld] T_j, 0 except in flat rows; empty without them
  std::vector<double> repeated_p;     // [R] S_t, 0 if few addends are equal
  std::vector<std::vector<double>> repeated_v;  // [R][dim_vo] S_vj; empty if unused
  Buffer<float> p_squared;                      // [R, ld] sum p_k^2 v_kj^2, from p_rounding()
  Buffer<float> range;                          // [R, ld] R_j, from find_ranges()
  TruncationSums truncation;                    // from find_ranges(), if sums round toward zero
};

// Sums over keys of weights times V or V - O, or times their squares. Reused to keep its memory.
struct Moments {
  // Adds the excess of cells over w_k x_kj, with w the rows' tied weights and x = V, or V - O if
  // about_o.
  void add_excess(const BlockSums& sums, std::span<const std::int64_t> rows, bool about_o,
                  Buffer<double>& result);

  CenteredMoment centered;
  Buffer<float> first;
  Buffer<double> second;
  Shift shift;
  Buffer<float> pairs;
};

// Computes TP. If the denominator sums the rounded P, the weights sum to 1, and only v - o carries
// error.
void p_rounding(BlockSums& sums, Moments& moments, Buffer<double>& result);
// Computes TL; needs TP.
void logit_error(BlockSums& sums, Moments& moments, const Buffer<double>& p_variance,
                 Buffer<double>& result);
// Finds R_j: exactly in rows whose variance needs that, otherwise an estimate between two bounds.
void find_ranges(BlockSums& sums, const Buffer<double>& p_variance);
// Sets the largest |v_kj| / v_unit of each column over the keys that a row sees.
void find_seen_max(const RowBlock& block, std::int64_t row, std::vector<double>& seen_max);
// Computes TA, and TR if partials are rounded.
void accumulation(const BlockSums& sums, Buffer<double>& result, Buffer<double>& partials);

// Computes TS (a tanh included) and TE (skipped keys included), and what both add to lse_sigma^2.
class SharedRoundings {
 public:
  void find(const BlockSums& sums, Buffer<double>& of_s, Buffer<double>& of_exp2);
  // Adds TS and TE of an LSE to its variance. The LSE is over keys with weights p, and over `sink`
  // unless that is nullptr.
  void add_to_lse(const BlockSums& sums, std::int64_t row, const double* p, const Sink* sink,
                  double& variance);

 private:
  void add_skipped(const BlockSums& sums, Buffer<double>& variance);
  void weigh(SharedRounding rounding, const BlockSums& sums, std::int64_t row, const double* p,
             const Sink* sink);

  RowCells row_cells_;
  Cells cells_, steps_;          // steps_: of exp2_step(), empty for other roundings
  std::vector<double> weights_;  // [stride + 1], the last for the sink
  Buffer<float> weights32_, coherent_, independent_, of_steps_;
  Shift shift_;
};

double lse_variance(BlockSums& sums, SharedRoundings& shared, std::int64_t row);

// Computes the worst case: every rounding at its largest, all of one sign, and |v| + |o| in the
// place of |v - o|. Logit errors count with their standard deviation. Overwrites sd_k, so call it
// last.
void worst_case(BlockSums& sums, Moments& moments, Buffer<double>& result);

}  // namespace plumbline
