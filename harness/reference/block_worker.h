// One thread's buffers, and the steps from rows to a finished block of the reference. Private to
// harness/reference.
#pragma once

#include <algorithm>
#include <span>

#include "harness/reference/bounded_scales.h"
#include "harness/reference/suite_scores.h"

namespace plumbline {

struct BlockWorker {
  explicit BlockWorker(const Model& model) : scales(model) {}
  RowBlock block;
  BoundedScales scales;
  SuiteScores scores;
  Buffer<double> sigma_squared;  // [R, dim_vo]

  // Computes `block` and `scales` of rows that share K and V, and the part of `scores` that needs
  // no sigma. `head` must outlive their use.
  void compute(const ReferenceContext& question, const HeadData& head, std::span<const RowId> ids,
               bool suite_scores);
};

// Gathers K and V of one row that has visible keys. V is 0 for the keys that the row does not see.
HeadData gather_for_row(const ReferenceContext& question, RowId row,
                        HeadForms forms = HeadForms::all);
// Returns a reference in which every row of the selection has the results of a row without visible
// keys.
Reference without_keys(const ReferenceContext& question, const RowSelection& selection,
                       bool suite_scores);
// Returns sigma_squared, raised if necessary to cover the error that T_j leaves in the rounded
// output. T_j is the error that all flat rows share.
double with_shared_error(const Model& model, double o, double unit, double sigma_squared,
                         double shared_error);
// Returns sigma^2 of an element from its variance before output rounding and T_j of a flat row. The
// result is at least the square of half the smallest subnormal of the output.
inline double with_output_rounding(const Model& model, double o, double unit, double variance,
                                   std::optional<double> shared_error) {
  const double sigma_squared = variance + square(unit) * model.out_variance;
  return std::max(shared_error ? with_shared_error(model, o, unit, sigma_squared, *shared_error)
                               : sigma_squared,
                  square(half_smallest_subnormal(model.out)));
}
// Stores an element and returns its sigma^2. `variance` and `bound` are before output rounding.
double store_element(Reference& result, std::size_t row, std::int64_t column, double o,
                     double variance, std::optional<double> shared_error, double bound,
                     const Model& model);
// Returns the output's ulp slightly above |o|. Just below a power of two the ulp is half as large,
// and noise of fp64 must not move o there.
inline double output_unit(double o, DType out) { return ulp(o * (1 + 1e-12), out); }

}  // namespace plumbline
