// The fp64 reference and the scales of legal error. Shares no code with any kernel.
//
// Formulas and symbols: docs/judging-formulas.md. For a row with visible keys k and column j of
// O:
//   o_j = sum_k p_k v_kj
//   sigma^2 = spre^2 + ulp_out(o_j)^2 / 12
//   spre^2 = TP (P rounding, with ties) + TL (logit error) + TS (S rounding, tanh)
//          + TE (exp2) + TA (accumulation) + TR (split partials)
// Q rounded after prescaling, inputs rounded to tf32, and fp8 inputs rounded after their scale is
// applied add no term, because the reference then uses the rounded numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/outputs.h"
#include "harness/problem/rounding_spec.h"
#include "harness/reference/rounding.h"

namespace plumbline {

// The stored inputs that a kernel saw. Scales, slopes and sinks are in the geometry.
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

// The rows that the reference computes: all if their cost (sum over rows of visible keys *
// (head_dim_qk + head_dim_vo)) is at most `cost_limit`. Otherwise rows that tend to break kernels,
// in this order until the limit is reached, and at least one row of every (sample, head):
//   the last row, then the first
//   rows at the mask boundary: the first with a key, the first with the most keys
//   the last page's rows
//   both sides of every tile edge (multiples of 64 and 128)
//   random ones, by the problem's seed
// If `rotation` is not 0, these rows have three quarters of the limit. The rest is for random rows
// that change with the rotation.
struct RowSelection {
  std::vector<RowId> rows;  // ordered by (sample, head, row)
  bool sampled = false;     // some rows are left out
  std::int64_t rows_total = 0;
  // True for rows taken for the rotation. Maxima that decide a verdict include them; means that are
  // compared with earlier nights do not. Empty if there are none.
  std::vector<bool> rotating = {};
  std::int64_t rotation = 0;  // the argument of select_rows
};
RowSelection select_rows(const Geometry& geometry, double cost_limit, std::int64_t rotation = 0);

// Results for R rows and D = head_dim_vo columns; matrices are row major [R, D]. Rows without
// visible keys have visible == 0, o = 0, lse = -inf (or the sink, if the problem has sinks and the
// spec's LSE includes them) and zero scales; only an LSE that is a sink rounded to 16 bits has an
// lse_sigma.
struct Reference {
  RowSelection selection;
  std::int64_t columns = 0;
  std::vector<double> o;      // [R, D]; an fp8 output saturates
  std::vector<float> spre;    // [R, D] standard deviation before output rounding
  std::vector<float> sigma;   // [R, D] with output rounding
  std::vector<float> bound;   // [R, D] worst-case bound (for information only)
  double output_units = 0.5;  // largest error of output rounding in ulp: 1 if truncated
  // Value and scale of each row output, [R]. `lse` is a natural logarithm.
#define PLUMBLINE_ROW(name, ...) \
  std::vector<double> name;      \
  std::vector<float> name##_sigma;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  std::vector<std::int32_t> visible;  // [R] number of visible keys
  // [R] 1 if P's rounding is as in most rows (RowRounding::is_plain), so that test_scale() need not
  // look for cells. Empty if unknown: a cache or a library does not keep it.
  std::vector<std::uint8_t> plain_p;
  // For shrink and temperature (docs/judging-comparisons.md, "Over a suite"). Empty unless
  // requested.
  std::vector<float> gradient;              // [R, D] G_j = d o_j / d log scale
  std::vector<float> shrink_variance;       // [R] V_i of sum_j e_j o_j / sigma_j^2
  std::vector<float> temperature_variance;  // [R] V_i of sum_j e_j G_j / sigma_j^2
};

// The members that hold a row output.
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
  // If set, the library computes the reference, unless suite scores or further rows are needed. The
  // CPU computes rows that repeat (plumbline_reference.h), and all if the library refuses or fails.
  // The library's results differ from the CPU's in the last bits.
  const ReferenceLibrary* library = nullptr;
  // True if row outputs beyond the LSE, which a library does not compute, are needed.
  bool further_rows = false;
  bool uses_library() const { return library != nullptr && !suite_scores && !further_rows; }
};
// Runs in the calling oneTBB arena. The result is the same for every thread count.
Reference compute_reference(const Geometry& geometry, const InputView& inputs,
                            const RoundingSpec& spec, const RowSelection& rows,
                            const ReferenceOptions& options = {});

// Explains one element: the share of each rounding in sigma^2. Shares sum to 1, or are 0
// for a row without visible keys.
struct Explanation {
  double o = 0, spre = 0, sigma = 0;
  std::array<double, rounding_count> share{};
};
Explanation explain(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                    RowId row, std::int64_t column);

// One row in fp64, for locating a fault: o, and logits (natural units) and probabilities over
// `keys`. Probabilities sum to 1 less the sink's. Hidden keys have p = 0 and s = -inf.
struct RowDetail {
  KeyRange keys;
  std::vector<double> s, p;
  std::vector<double> o;
  double lse = 0;
};
RowDetail reference_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                        RowId row);

}  // namespace plumbline
