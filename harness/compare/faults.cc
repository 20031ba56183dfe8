// Scans an output for unwritten elements, NaN and impossible values. Checks padded rows and rows
// without visible keys.
#include "harness/compare/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "harness/problem/inputs.h"
#include "harness/problem/rounder.h"
#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

// Arena::poison sets every bit, which is a NaN in every float format. Except in e4m3, no kernel
// computes this NaN. E4m3 has only two NaNs, and x86's default NaN converts to this one.
bool is_poison(DType dtype, const void* base, std::int64_t index) {
  const auto size = size_in_bytes(dtype);
  const auto* bytes =
      static_cast<const unsigned char*>(base) + static_cast<std::size_t>(index) * size;
  return std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0xFF; });
}

class FaultFinder {
 public:
  explicit FaultFinder(const FaultInputs& inputs)
      : in_(inputs),
        geometry_(*inputs.geometry),
        problem_(geometry_.problem()),
        dtype_(problem_.out()) {
    got_.resize(static_cast<std::size_t>(problem_.head_dim_vo));
    if (!problem_.is_merge() || in_.reference == nullptr) return;
    // The weights are exp(LSE_i - LSE) with a rounded LSE, so their sum may exceed 1.
    for (const double lse : in_.reference->lse) {
      if (std::isfinite(lse)) merge_slack_ = std::max(merge_slack_, 0x1p-23 * std::abs(lse));
    }
  }

  Faults run() {
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      widen_ranges(b);
      for (std::int64_t i = 0; i < geometry_.length_q(b); ++i) {
        bool empty = geometry_.visible_count(b, i) == 0;
        for (std::int64_t h = 0; h < problem_.heads_q; ++h) {
          if (geometry_.mask_heads > 1) empty = geometry_.visible_count(b, i, h) == 0;
          valid_row(b, i, h, empty);
        }
      }
      const bool looks = in_.policy && *in_.policy != PaddingPolicy::anything;
      if (problem_.is_padded() && looks) padded_rows(b);
    }
    if (in_.reference != nullptr) exact_rows();
    return std::move(faults_);
  }

 private:
  void report(std::int64_t& count, std::int64_t b, std::int64_t h, std::int64_t row,
              std::int64_t column, std::string_view what) {
    if (faults_.total() == 0)
      faults_.detail =
          fmt::format("{} at sample {}, head {}, row {}, column {}", what, b, h, row, column);
    ++count;
  }

  void load(std::int64_t offset) {
    decode(dtype_,
           static_cast<const std::byte*>(in_.outputs.out) +
               static_cast<std::size_t>(offset) * size_in_bytes(dtype_),
           got_);
  }

  void valid_row(std::int64_t b, std::int64_t i, std::int64_t h, bool empty) {
    const auto offset = geometry_.out_offset(b, i, h);
    load(offset);
    for (std::int64_t j = 0; j < problem_.head_dim_vo; ++j) {
      const double value = got_[static_cast<std::size_t>(j)];
      if (std::isnan(value) && is_poison(dtype_, in_.outputs.out, offset + j)) {
        report(faults_.unwritten, b, h, i, j,
               dtype_ == DType::e4m3 ? "NaN or unwritten element" : "unwritten element");
      } else if (empty) {
        if (value != 0)
          report(faults_.empty_rows, b, h, i, j,
                 fmt::format("{} in a row without visible keys", value));
      } else if (std::isnan(value)) {
        report(faults_.nan, b, h, i, j, "NaN");
      } else if (std::isinf(value)) {
        report(faults_.inf, b, h, i, j, "infinity");
      } else {
        check_range(b, i, h, j, value);
      }
    }
    for (const RowOutput output : all<RowOutput>()) {
      if (const void* data = in_.outputs.*row_output_data[output]; data != nullptr)
        row_output(output, data, b, i, h, empty);
    }
  }

  void row_output(RowOutput output, const void* data, std::int64_t b, std::int64_t i,
                  std::int64_t h, bool empty) {
    const auto offset = geometry_.lse_offset(b, i, h);
    const double value = decode_at(DType::f32, data, static_cast<std::size_t>(offset));
    const std::string_view words = table_row(output).words;
    const auto found = [&](std::int64_t& count, std::string_view what, std::string_view in = "") {
      report(count, b, h, i, column_of(output), fmt::format("{} {}{}", what, in, words));
    };
    if (std::isnan(value) && is_poison(DType::f32, data, offset)) {
      found(faults_.unwritten, "unwritten");
    } else if (empty) {
      if (!is_value_of_empty_row(output, h, value))
        report(faults_.empty_rows, b, h, i, column_of(output),
               fmt::format("{} {} in a row without visible keys", words, value));
    } else if (std::isnan(value)) {
      found(faults_.nan, "NaN", "in the ");
    } else if (std::isinf(value)) {
      found(faults_.inf, "infinite");
    }
  }

  bool is_value_of_empty_row(RowOutput output, std::int64_t head, double value) const {
    return output == RowOutput::lse ? is_lse_of_empty_row(head, value) : value == -HUGE_VAL;
  }

  // Accepts the sink's logit if the LSE includes a sink, otherwise -infinity. The logit may be off
  // by the fp32 rounding of a logarithm and the rounding to the LSE's dtype.
  bool is_lse_of_empty_row(std::int64_t head, double value) const {
    constexpr double u32 = 0x1p-24;
    const double expected = lse_without_keys(side_, head, in_.spec->lse_includes_sink);
    const double natural = in_.outputs.lse_base == 2 ? value * std::numbers::ln2 : value;
    const double stored = in_.spec->lse_dtype == DType::none
                              ? 0
                              : unit_roundoff(in_.spec->lse_dtype) * std::abs(expected);
    const double slack = std::isinf(expected) ? 0 : 16 * u32 * (1 + std::abs(expected)) + stored;
    return natural == expected || std::abs(natural - expected) <= slack;
  }

  // Returns how far rounded weights and sums may put an output outside the range of a sample's V,
  // relative to the largest |v| of a column.
  double relative_slack(std::int64_t b) const {
    constexpr double u32 = 0x1p-24;
    const auto& spec = *in_.spec;
    const auto keys = static_cast<double>(geometry_.length_kv(b));
    // Truncation, or a random rounding, may move P by a whole step.
    const double smallest =
        half_smallest_subnormal(spec.p_dtype) * (spec.p_toward_zero || spec.p_stochastic ? 2 : 1);
    const double p = 2 * unit_roundoff(spec.p_dtype) + keys * smallest / spec.p_prescale;
    const double partial = 2 * unit_roundoff(spec.split_partial_dtype);
    const double accumulation =
        (keys + 16) *
        (spec.pv_accumulator.dtype == DType::f16
             ? 0x1p-10
             : std::max(4 * u32, std::ldexp(1.0, 1 - spec.pv_accumulator.fraction_bits)));
    const double tiles = std::ceil(keys / 16) * unit_roundoff(spec.o_between_tiles);
    return p + partial + accumulation + tiles + spec.reciprocal_rel_error + spec.product_rel_error +
           merge_slack_;
  }

  // Returns by how much sums in fp16 may underflow: half of fp16's smallest subnormal per key, in
  // the units of the output, for a denominator of 1.
  double underflow(std::int64_t b, std::int64_t head_kv) const {
    const RoundingSpec& spec = *in_.spec;
    if (spec.pv_accumulator.dtype != DType::f16) return 0;
    const KeyValues values(geometry_, nullptr, nullptr, InputRounding(spec));
    return static_cast<double>(geometry_.length_kv(b)) * half_smallest_subnormal(DType::f16) /
           spec.p_prescale * values.factor_of_sums(b, head_kv);
  }

  // Sets the range of possible outputs of a sample for each key head and column, [H, D]. An output
  // is a convex combination of v, up to the rounding of P (weights need not sum to 1), of the sums
  // and of the output.
  void widen_ranges(std::int64_t b) {
    const auto size = static_cast<std::size_t>(problem_.heads_kv * problem_.head_dim_vo),
               first = static_cast<std::size_t>(b) * size;
    const double relative = relative_slack(b);
    least_.resize(size);
    most_.resize(size);
    double of_sums = 0;
    for (std::size_t at = 0; at < size; ++at) {
      const auto head_kv = static_cast<std::int64_t>(at) / problem_.head_dim_vo;
      if (static_cast<std::int64_t>(at) % problem_.head_dim_vo == 0)
        of_sums = underflow(b, head_kv);
      const double lowest = in_.range->lowest[first + at], highest = in_.range->highest[first + at];
      const double magnitude = std::max(std::abs(lowest), std::abs(highest)),
                   slack = magnitude * relative + of_sums + ulp(magnitude, dtype_);
      least_[at] = saturated(lowest - slack, dtype_);
      most_[at] = saturated(highest + slack, dtype_);
    }
  }

  std::size_t range_of(std::int64_t h, std::int64_t j) const {
    return static_cast<std::size_t>(h / problem_.group() * problem_.head_dim_vo + j);
  }

  bool in_range(std::int64_t h, std::int64_t j, double value) const {
    const std::size_t at = range_of(h, j);
    return value >= least_[at] && value <= most_[at];
  }

  void check_range(std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t j, double value) {
    if (in_range(h, j, value)) return;
    const auto at =
        static_cast<std::size_t>(b * problem_.heads_kv * problem_.head_dim_vo) + range_of(h, j);
    report(faults_.out_of_range, b, h, i, j,
           fmt::format("{} outside the range [{}, {}] of V", value, double{in_.range->lowest[at]},
                       double{in_.range->highest[at]}));
  }

  void padded_rows(std::int64_t b) {
    for (std::int64_t i = 0; i < problem_.seq_q; ++i) {
      if (geometry_.padded_row_is_valid(b, i)) continue;
      for (std::int64_t h = 0; h < problem_.heads_q; ++h) padded_row(b, i, h);
    }
  }

  void padded_row(std::int64_t b, std::int64_t i, std::int64_t h) {
    const auto offset = geometry_.padded_out_offset(b, i, h);
    load(offset);
    for (std::int64_t j = 0; j < problem_.head_dim_vo; ++j) {
      const double value = got_[static_cast<std::size_t>(j)];
      if (!padded_value_is_legal(h, j, value, offset + j)) {
        report(faults_.padded_rows, b, h, i, j,
               fmt::format("{} in a padded row, where the policy is \"{}\"",
                           std::isnan(value) ? "NaN" : fmt::to_string(value), name(*in_.policy)));
      }
    }
  }

  bool padded_value_is_legal(std::int64_t h, std::int64_t j, double value,
                             std::int64_t index) const {
    switch (*in_.policy) {
      case PaddingPolicy::zeros:
        return value == 0;
      case PaddingPolicy::untouched:
        return is_poison(dtype_, in_.outputs.out, index);
      case PaddingPolicy::anything:
        return true;
      case PaddingPolicy::attended:
        break;
    }
    // A padded query of NaN gives NaN, so only unwritten elements are illegal.
    if (problem_.fill == Fill::nan) return !is_poison(dtype_, in_.outputs.out, index);
    if (value == 0) return true;  // a padded row may see no key under a causal mask
    return in_range(h, j, value);
  }

  // Returns true if only fp32 divisions and merges may cause errors in the rows of row_is_exact().
  // The spec must have a largest P of 1 or 1 / n that p_dtype holds, no rounding between the
  // products and the output, and no stochastic rounding of the output.
  bool exact_is_exact() const {
    const RoundingSpec& spec = *in_.spec;
    return (spec.p_max == MaximumOfP::running || spec.p_max == MaximumOfP::one) &&
           round_to(spec.p_prescale, spec.p_dtype) == spec.p_prescale && !spec.out_stochastic &&
           spec.split_partial_dtype == DType::f32 && spec.o_between_tiles == DType::none &&
           spec.reciprocal_rel_error == 0 && spec.product_rel_error == 0 && spec.skipped_below == 0;
  }
  // A kernel may divide the partial sums of any split, so O may be off by fp32 roundings of the
  // quotients and of the LSEs that weigh the parts. Returns the largest such error in units of max
  // |v|.
  double error_of_splits(double lse) const {
    constexpr double u32 = 0x1p-24;
    return u32 * (8 + 3 * std::abs(lse));
  }
  double stored(double value) const {
    return DirectedRounder{Rounder(dtype_), in_.spec->out_toward_zero}(value);
  }
  void exact_rows() {
    const auto& reference = *in_.reference;
    if (!exact_is_exact()) return;
    for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
      if (!row_is_exact(problem_, reference.visible[r])) continue;
      const auto& id = reference.selection.rows[r];
      load(geometry_.out_offset(id.sample, id.row, id.head));
      const double relative = error_of_splits(reference.lse[r]);
      const auto first =
          static_cast<std::size_t>(id.sample * problem_.heads_kv * problem_.head_dim_vo);
      for (std::int64_t j = 0; j < problem_.head_dim_vo; ++j) {
        const std::size_t column = first + range_of(id.head, j);
        const double error = relative * std::max(std::abs(double{in_.range->lowest[column]}),
                                                 std::abs(double{in_.range->highest[column]}));
        const double expected = reference.o[r * static_cast<std::size_t>(problem_.head_dim_vo) +
                                            static_cast<std::size_t>(j)];
        const double value = got_[static_cast<std::size_t>(j)];
        if (round_to(expected, dtype_) == expected &&
            !(value >= stored(expected - error) && value <= stored(expected + error))) {
          report(faults_.inexact, id.sample, id.head, id.row, j,
                 fmt::format("{} where {} is exact", value, expected));
        }
      }
    }
  }

  const FaultInputs& in_;
  const Geometry& geometry_;
  const Problem& problem_;
  const SideInputs& side_ = geometry_.side;
  DType dtype_;
  Faults faults_;
  std::vector<double> got_;
  std::vector<double> least_, most_;  // range of the current sample, [H, D]
  double merge_slack_ = 0;            // by how much the sum of a merge's weights may exceed 1
};

}  // namespace

ValueRange value_range(const Geometry& geometry, const void* v, InputRounding rounding) {
  const auto& problem = geometry.problem();
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  const auto size = static_cast<std::size_t>(problem.batch * problem.heads_kv) * columns;
  const float nothing = problem.sinks == Sinks::none ? std::numeric_limits<float>::infinity() : 0;
  ValueRange range{std::vector<float>(size, nothing), std::vector<float>(size, -nothing)};
  const KeyValues values(geometry, nullptr, v, rounding);
  std::vector<double> row(columns);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.heads_kv; ++h) {
      const auto base = static_cast<std::size_t>(b * problem.heads_kv + h) * columns;
      for (std::int64_t key = 0; key < geometry.length_kv(b); ++key) {
        if (problem.is_merge() && !geometry.sees(b, 0, key)) continue;  // no value there
        values.value(b, key, h, row);
        for (std::size_t j = 0; j < columns; ++j) {
          const auto value = static_cast<float>(row[j]);
          range.lowest[base + j] = std::min(range.lowest[base + j], value);
          range.highest[base + j] = std::max(range.highest[base + j], value);
        }
      }
    }
  }
  return range;
}

Faults find_faults(const FaultInputs& inputs) { return FaultFinder(inputs).run(); }

}  // namespace plumbline
