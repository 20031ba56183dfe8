// One thread's buffers, and the way from rows to a finished block of the reference. Private to
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

  // Block and scales of rows that share K and V; of scores all that needs no sigma. `head` must
  // outlive their use.
  void compute(const Question& question, const HeadData& head, std::span<const RowId> ids,
               bool suite_scores);
};

// K and V of one row with visible keys; nothing of keys that it does not see.
HeadData gather_for_row(const Question& question, RowId row);
// What rows without visible keys have, for all rows of the selection.
Reference without_keys(const Question& question, const RowSelection& selection, bool suite_scores);
// sigma^2 of an element, given its variance before output rounding and T_j of a flat row; never
// less than that of half the smallest subnormal of the output.
double with_shared_error(const Model& model, double o, double unit, double sigma_squared,
                         double shared_error);
inline double with_output_rounding(const Model& model, double o, double unit, double variance,
                                   std::optional<double> shared_error) {
  // Truncation errs between 0 and a unit, and where o is a number of the dtype by either.
  const double sigma_squared =
      variance + square(unit) * (model.out_toward_zero ? 1.0 / 2 : 1.0 / 12);
  return std::max(shared_error ? with_shared_error(model, o, unit, sigma_squared, *shared_error)
                               : sigma_squared,
                  square(half_smallest_subnormal(model.out)));
}
// An element, given these and its bound before output rounding; answers sigma^2.
double store_element(Reference& result, std::size_t row, std::int64_t column, double o,
                     double variance, std::optional<double> shared_error, double bound,
                     const Model& model);
// ulp of the output at o. A hair above |o|: where o is a power of two, noise of fp64 must not halve
// it.
inline double output_unit(double o, DType out) { return ulp(o * (1 + 1e-12), out); }

}  // namespace plumbline
