// The errors of one output against the reference: statistics, and the worst element.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "harness/problem/outputs.h"
#include "harness/reference/rounding.h"

namespace plumbline {

// One element of an output. The column of a row output is negative: column_of().
struct ElementId {
  std::int64_t sample = 0, head = 0, row = 0, column = 0;  // row: valid row of the sample
  bool operator==(const ElementId&) const = default;
};

// Returns "sample 0 head 1 row 2 column 3", or for a row output "the LSE of sample 0 head 1 row 2".
std::string at(const ElementId& element);

// The worst element of one statistic, with figures that explain it.
struct WorstElement {
  ElementId element;
  double got = 0, expected = 0;
  double sigma = 0;                            // standard deviation that the spec allows there
  double ulp = 0;                              // ulp of the output dtype at `expected`
  std::array<double, rounding_count> share{};  // shares of sigma^2, by Rounding
  std::int64_t visible_keys = 0;
};

// Error statistics over the rows with a reference. All are 0 unless the status is ok.
struct ErrorStatistics {
  std::int64_t elements = 0;  // compared with the reference
  double peak = 0;            // max |e| / sigma
  double beyond_output = 0;   // max (|e| - ulp_O / 2)+ / spre
  double rms = 0;             // sqrt(mean (e / sigma)^2)
  double bound = 0;           // max |e| / worst-case bound
  double max_abs = 0, max_rel = 0, mean_abs = 0;
  double max_ulp = 0;  // max |e| / ulp_O(expected)
  // For each row output: true if it was compared (has_lse), max |e| / sigma, and max |e|.
#define PLUMBLINE_ROW(name, ...) \
  bool has_##name = false;       \
  double name##_z = 0;           \
  double name##_max_abs = 0;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  bool has_elsewhere = false;  // some rows have no reference
  // max |e| in these rows, in units of a rough upper bound of sigma (rough_pass.h)
  double elsewhere = 0;
  bool has_suite_scores = false;
  double shrink_z = 0, temperature_z = 0;  // signed, clipped to +-6 only when summed
  // Shares of elements outside common fixed tolerances, for the record; they decide nothing.
  double outside_allclose_1e3 = 0, outside_allclose_1e2 = 0;  // rtol = atol
};

}  // namespace plumbline
