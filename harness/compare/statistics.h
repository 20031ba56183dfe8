// Errors of an output in units of sigma. docs/judging.md has the definitions.
#pragma once

#include <vector>

#include "harness/base/maximum.h"
#include "harness/compare/outputs.h"
#include "harness/contract/limits.h"
#include "harness/outcome/error_picture.h"
#include "harness/outcome/statistics_table.h"
#include "harness/reference/reference.h"

namespace plumbline {

// The position of a maximum of ErrorStatistics. `row` indexes reference.selection.rows; -1: none.
struct Maximum {
  std::int64_t row = -1;
  std::int64_t column = 0;
};

struct Comparison {
  ErrorStatistics statistics;
  PerStatistic<Maximum> worst;  // for statistics that are maxima
  std::vector<float> head_rms;  // rms of e/sigma per (sample, head), sample-major
  ErrorPicture picture;         // of all compared rows
  // e / sigma per reference row and column, [R, D]; 0 in rows without visible keys. Used to locate
  // a fault.
  std::vector<float> z;
};

// Compares the outputs with the reference, except in rows without visible keys. A NaN makes the
// maxima of its output NaN (it is never dropped). Throws HarnessFailure if outputs and reference
// are finite but a statistic is NaN, which is a bug in plumbline.
Comparison compare(const Geometry& geometry, const OutputView& outputs, const Reference& reference);

// Returns `beyond_output` of an element: its error beyond the rounding of the output, in units of
// spre. `at` indexes reference.o, `out` is the dtype of the output. NaN for a NaN error.
double error_beyond_output(const Reference& reference, std::size_t at, double error, DType out);

// Returns true if the reference's outputs and sigmas are finite. If inputs overflow their dtype,
// there is nothing to compare with.
bool is_finite(const Reference& reference);

// Returns true if every measured statistic that decides is within its limit.
bool within_limits(const ErrorStatistics& statistics, const Limits& limits);

// Returns the statistic with the largest share of its limit; NaN counts as the largest. Row outputs
// such as the LSE are considered only if the output is within its limits, because users look at the
// output first. Rows without a reference are considered only if row outputs are within theirs too.
const Statistic& nearest_to_limit(const Comparison& comparison, const Limits& limits);

// Returns the rms of the values, 0 for none. The rms of all sigmas shows how tight a spec is on a
// problem.
double rms_of(const std::vector<float>& values);

// Returns the sample, head, row and column of a maximum; a default element if there is none.
ElementId element_of(const Reference& reference, const Maximum& maximum);

// Returns the outputs at the reference's rows, [R, D].
std::vector<double> rows_of(const Geometry& geometry, const OutputView& outputs,
                            const Reference& reference);

// Returns a row output of a row, in natural units. The outputs must have it.
double row_value(const Geometry& geometry, const OutputView& outputs, RowOutput output,
                 const RowId& row);
// Returns the LSE of a row, in natural units. outputs.lse must not be null.
double lse_at(const Geometry& geometry, const OutputView& outputs, const RowId& row);
// Returns the LSEs minus the reference's, [R], in natural units; 0 in rows without visible keys.
// Empty if outputs.lse is null.
std::vector<double> lse_errors(const Geometry& geometry, const OutputView& outputs,
                               const Reference& reference);

// Describes the worst element of the statistic's output: its value, sigma and, except for row
// outputs, the share of each rounding in sigma^2. The column of a row output is column_of().
WorstElement describe_worst(const Geometry& geometry, const InputView& inputs,
                            const OutputView& outputs, const RoundingSpec& spec,
                            const Reference& reference, const Statistic& statistic,
                            const Maximum& maximum);

}  // namespace plumbline
