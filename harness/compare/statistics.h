// Error of an output in units of the legal standard deviation. docs/judging.md has the definitions.
#pragma once

#include <vector>

#include "harness/base/maximum.h"
#include "harness/compare/outputs.h"
#include "harness/contract/limits.h"
#include "harness/outcome/error_picture.h"
#include "harness/outcome/statistics_table.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Where the maxima of ErrorStatistics were met; row indexes reference.selection.rows. row < 0:
// nowhere.
struct Maximum {
  std::int64_t row = -1;
  std::int64_t column = 0;
};

struct Comparison {
  ErrorStatistics statistics;
  PerStatistic<Maximum> worst;  // of those that are a maximum
  std::vector<float> head_rms;  // rms of e/sigma per (sample, head), sample-major
  ErrorPicture picture;         // of all rows that were compared
  // e / sigma per reference row and column, [R, D]; 0 in rows without visible keys. Kept for
  // locating a fault.
  std::vector<float> z;
};

// Compares the reference's rows. A NaN output makes every maximum NaN (it is never dropped); rows
// without visible keys are skipped. Throws HarnessFailure where outputs and reference are finite
// and a statistic is no number: that is a fault of the judge.
Comparison compare(const Geometry& geometry, const OutputView& outputs, const Reference& reference);

// Whether the reference's outputs and scales are numbers. Inputs that overflow their dtype leave
// nothing to compare with.
bool is_finite(const Reference& reference);

// Whether every statistic keeps its limit.
bool within_limits(const ErrorStatistics& statistics, const Limits& limits);

// The statistic whose maximum is nearest to its limit; a NaN is nearest of all. The LSE, whose
// scale is by far the smallest, is named only where the outputs keep their limits: a person looks
// for an output first.
const Statistic& nearest_to_limit(const Comparison& comparison, const Limits& limits);

// Of sigma over all rows and columns: how tight a spec is on a problem. 0 for no values.
double rms_of(const std::vector<float>& values);

// The element as a person looks for it.
ElementId element_of(const Reference& reference, const Maximum& maximum);

// The output at the reference's rows, [R, D].
std::vector<double> rows_of(const Geometry& geometry, const OutputView& outputs,
                            const Reference& reference);

// A row output of a row, in natural units; the outputs must have it.
double row_value(const Geometry& geometry, const OutputView& outputs, RowOutput output,
                 const RowId& row);
// The LSE of a row in natural units; outputs.lse must be there.
double lse_at(const Geometry& geometry, const OutputView& outputs, const RowId& row);
// LSE less the reference's, [R], in natural units; 0 in rows without visible keys. Empty without an
// LSE.
std::vector<double> lse_errors(const Geometry& geometry, const OutputView& outputs,
                               const Reference& reference);

// Describes the worst element of the statistic's output: its value, and the roundings that make its
// sigma. The column of a row output is column_of().
WorstElement describe_worst(const Geometry& geometry, const InputView& inputs,
                            const OutputView& outputs, const RoundingSpec& spec,
                            const Reference& reference, const Statistic& statistic,
                            const Maximum& maximum);

}  // namespace plumbline
