// The fp64 answer and the scales of legal error. Shares no code with any kernel.
//
// Formulas and symbols: docs/judging-formulas.md. For a row with visible keys k and column j of O:
//   o_j = sum_k p_k v_kj
//   sigma^2 = spre^2 + ulp_out(o_j)^2 / 12
//   spre^2 = TP (P rounding, with ties) + TL (logit error) + TS (S rounding, tanh)
//          + TE (exp2) + TA (accumulation) + TR (split partials)
// q_prescaled, inputs rounded to tf32 and fp8 rounded after its scale are no terms: the
// reference then uses the rounded numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/outputs.h"
#include "harness/problem/rounding_spec.h"
#include "harness/reference/rounding.h"

namespace plumbline {

// The stored inputs a kernel saw. Scales, slopes and sinks are the geometry's.
struct InputView {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
};

struct RowId {
  std::int32_t sample = 0;
  std::int32_t head = 0;  // query head
  std::int32_t row = 0;   // valid row of the sample
  bool operator==(const RowId&) const = default;
};

// Which rows the reference computes. All if their cost (sum over rows of visible keys *
// (head_dim_qk + head_dim_vo)) is at most `cost_limit`. Else, until the limit is reached, the rows
// that break kernels first; at least one row of every (sample, head):
//   first and last row
//   rows at the mask boundary: the first with a key, the first with all
//   the last page's rows
//   both sides of every tile edge (multiples of 64 and 128)
//   random ones, by the problem's seed
// With a `rotation` that is not 0, the rows that a sample takes so have three quarters of the
// limit; the rest is for random rows that change with the rotation.
struct RowSelection {
  std::vector<RowId> rows;  // ordered by (sample, head, row)
  bool sampled = false;     // not all rows
  std::int64_t rows_total = 0;
  // By row, whether it was taken for the rotation: it may decide by a maximum, but has no part in a
  // mean that is compared with earlier nights. Empty: none was.
  std::vector<bool> rotating = {};
  std::int64_t rotation = 0;  // that select_rows was given
};
RowSelection select_rows(const Geometry& geometry, double cost_limit, std::int64_t rotation = 0);

// Result for R rows and D = head_dim_vo columns; matrices are row major [R, D]. Rows without
// visible keys have visible == 0, o = 0, lse = -inf (the sink, where the problem has sinks and the
// spec's LSE includes them) and zero scales.
struct Reference {
  RowSelection selection;
  std::int64_t columns = 0;
  std::vector<double> o;      // [R, D]
  std::vector<float> spre;    // [R, D] standard deviation before output rounding
  std::vector<float> sigma;   // [R, D] with output rounding
  std::vector<float> bound;   // [R, D] worst-case bound (informs, never decides)
  double output_units = 0.5;  // ulp that output rounding errs by at most: 1 if truncated
  // Of each row output: its value and scale, [R]. `lse` is a natural logarithm.
#define PLUMBLINE_ROW(name, ...) \
  std::vector<double> name;      \
  std::vector<float> name##_sigma;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  std::vector<std::int32_t> visible;  // [R] number of visible keys
  // Of shrink and temperature (docs/judging-comparisons.md, "Over a suite"): only where requested,
  // else empty.
  std::vector<float> gradient;              // [R, D] G_j = d o_j / d log scale
  std::vector<float> shrink_variance;       // [R] V_i of sum_j e_j o_j / sigma_j^2
  std::vector<float> temperature_variance;  // [R] V_i of sum_j e_j G_j / sigma_j^2
};

// The members of each row output.
struct ReferenceRows {
  std::vector<double> Reference::*value;
  std::vector<float> Reference::*sigma;
};
#define PLUMBLINE_ROW(name, ...) ReferenceRows{&Reference::name, &Reference::name##_sigma},
inline constexpr PerRowOutput<ReferenceRows> reference_rows{{PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

class ReferenceLibrary;
struct ReferenceOptions {
  bool suite_scores = false;
  // Computes what it can (not suite scores) instead of the CPU; where it fails, the CPU does. Its
  // last bits are its own.
  const ReferenceLibrary* library = nullptr;
  // Row outputs beyond the LSE are needed, which a library does not compute.
  bool further_rows = false;
  bool uses_library() const { return library != nullptr && !suite_scores && !further_rows; }
};
// Runs in the calling oneTBB arena; the same result for every thread count.
Reference compute_reference(const Geometry& geometry, const InputView& inputs,
                            const RoundingSpec& spec, const RowSelection& rows,
                            const ReferenceOptions& options = {});

// The explanation of one element: which rounding contributes how much of sigma^2. Shares sum to 1.
struct Explanation {
  double o = 0, spre = 0, sigma = 0;
  std::array<double, rounding_count> share{};
};
Explanation explain(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                    RowId row, std::int64_t column);

// Everything about one row in fp64, for locating a fault: logits (natural units), probabilities
// (sum 1, less that of a sink) over `keys`, and o. Hidden keys among them have p = 0 and s = -inf.
struct RowDetail {
  KeyRange keys;
  std::vector<double> s, p;
  std::vector<double> o;
  double lse = 0;
};
RowDetail reference_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                        RowId row);

}  // namespace plumbline
