// Computes statistics of an output's errors: maxima, rms, LSE, suite scores, worst element.
#include "harness/compare/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "harness/base/floating_point_state.h"
#include "harness/base/harness_failure.h"
#include "harness/compare/error_picture_builder.h"

namespace plumbline {
namespace {

constexpr double suite_clip_variance_floor = 1e-300;

// Running sums over the elements of rows that do not rotate.
struct Sums {
  double z2 = 0, abs_error = 0;
  std::int64_t outside_1e3 = 0, outside_1e2 = 0;
};

class Comparer {
 public:
  Comparer(const Geometry& geometry, const OutputView& outputs, const Reference& reference)
      : geometry_(geometry),
        outputs_(outputs),
        reference_(reference),
        columns_(reference.columns),
        picture_(geometry, reference.columns) {
    const auto& problem = geometry.problem();
    result_.z.assign(static_cast<std::size_t>(reference.columns) * reference.selection.rows.size(),
                     0.0F);
    result_.head_rms.assign(static_cast<std::size_t>(problem.batch * problem.heads_q), 0.0F);
    head_rows_.assign(result_.head_rms.size(), 0);
    for (const RowOutput output : all<RowOutput>())
      result_.statistics.*row_statistics[output].measured = has(output);
    result_.statistics.has_suite_scores = !reference.gradient.empty();
    got_.resize(static_cast<std::size_t>(columns_));
  }

  Comparison run() {
    for (std::size_t r = 0; r < reference_.selection.rows.size(); ++r) {
      if (reference_.visible[r] == 0) continue;
      compare_row(static_cast<std::int64_t>(r));
      for (const RowOutput output : all<RowOutput>()) {
        if (has(output)) compare_row_output(output, static_cast<std::int64_t>(r));
      }
    }
    finish();
    require_numbers();
    return std::move(result_);
  }

 private:
  bool has(RowOutput output) const { return outputs_.*row_output_data[output] != nullptr; }

  void compare_row(std::int64_t r) {
    const auto& id = reference_.selection.rows[static_cast<std::size_t>(r)];
    const DType dtype = geometry_.problem().out();
    const auto offset = static_cast<std::size_t>(geometry_.out_offset(id.sample, id.row, id.head));
    decode(dtype, static_cast<const std::byte*>(outputs_.out) + offset * size_in_bytes(dtype),
           got_);
    const Sums before = sums_;
    const bool rotating = is_rotating(r);
    double shrink = 0, temperature = 0;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const auto at = static_cast<std::size_t>(r * columns_ + j);
      is_finite_ = is_finite_ && std::isfinite(got_[static_cast<std::size_t>(j)]);
      const double expected = reference_.o[at];
      const double error = got_[static_cast<std::size_t>(j)] - expected;
      const double sigma = reference_.sigma[at];
      element({r, j}, at, expected, error, sigma, dtype, rotating);
      picture_.add(id.row, j, error / sigma, reference_.spre[at] / sigma);
      if (rotating || !result_.statistics.has_suite_scores) continue;
      shrink += error * expected / (sigma * sigma);
      temperature += error * reference_.gradient[at] / (sigma * sigma);
    }
    if (rotating) return;
    fixed_elements_ += columns_;
    if (result_.statistics.has_suite_scores) {
      shrink_ += shrink;
      temperature_ += temperature;
      shrink_variance_ += reference_.shrink_variance[static_cast<std::size_t>(r)];
      temperature_variance_ += reference_.temperature_variance[static_cast<std::size_t>(r)];
    }
    const auto head = static_cast<std::size_t>(id.sample * geometry_.problem().heads_q + id.head);
    result_.head_rms[head] += static_cast<float>(sums_.z2 - before.z2);
    ++head_rows_[head];
  }

  void element(Maximum element, std::size_t at, double expected, double error, double sigma,
               DType dtype, bool rotating) {
    auto& s = result_.statistics;
    const double magnitude = std::abs(error);
    const double z = magnitude / sigma;
    const double excess = error_beyond_output(reference_, at, error, dtype);
    result_.z[at] = static_cast<float>(error / sigma);
    take(&ErrorStatistics::peak, &Limits::peak, z, element);
    take(&ErrorStatistics::beyond_output, &Limits::beyond_output, excess, element);
    ++s.elements;
    if (rotating) return;
    const double bound = magnitude == 0 ? 0 : magnitude / reference_.bound[at];
    if (exceeds(bound, s.bound)) s.bound = bound;
    if (exceeds(magnitude, s.max_abs)) s.max_abs = magnitude;
    const double relative = magnitude == 0 ? 0 : magnitude / std::abs(expected);
    if (exceeds(relative, s.max_rel)) s.max_rel = relative;
    const double ulps = magnitude / ulp(expected, dtype);
    if (exceeds(ulps, s.max_ulp)) s.max_ulp = ulps;
    sums_.z2 += z * z;
    sums_.abs_error += magnitude;
    sums_.outside_1e3 += !(magnitude <= 1e-3 + 1e-3 * std::abs(expected));
    sums_.outside_1e2 += !(magnitude <= 1e-2 + 1e-2 * std::abs(expected));
  }

  // Rotating rows change every night. They count for the maxima that decide, but not for means and
  // other statistics that are compared between nights.
  bool is_rotating(std::int64_t r) const {
    const std::vector<bool>& rotating = reference_.selection.rotating;
    return !rotating.empty() && rotating[static_cast<std::size_t>(r)];
  }

  // Raises a statistic that is a maximum and records its position.
  void take(double ErrorStatistics::*statistic, double Limits::*limit, double value, Maximum at) {
    double& largest = result_.statistics.*statistic;
    if (exceeds(value, largest)) largest = value, result_.worst[limit] = at;
  }

  void compare_row_output(RowOutput output, std::int64_t r) {
    const auto at = static_cast<std::size_t>(r);
    const RowStatistics& of = row_statistics[output];
    const double value = row_value(geometry_, outputs_, output, reference_.selection.rows[at]);
    is_finite_ = is_finite_ && std::isfinite(value);
    const double error = std::abs(value - (reference_.*reference_rows[output].value)[at]);
    take(of.z, of.limit, error / (reference_.*reference_rows[output].sigma)[at], {r, 0});
    double& max_abs = result_.statistics.*of.max_abs;
    if (!is_rotating(r) && exceeds(error, max_abs)) max_abs = error;
  }

  void finish() {
    auto& s = result_.statistics;
    result_.picture = picture_.finish();
    for (std::size_t h = 0; h < head_rows_.size(); ++h) {
      if (head_rows_[h] > 0)
        result_.head_rms[h] =
            std::sqrt(result_.head_rms[h] / static_cast<float>(head_rows_[h] * columns_));
    }
    if (fixed_elements_ == 0) return;
    const auto n = static_cast<double>(fixed_elements_);
    s.rms = std::sqrt(sums_.z2 / n);
    s.mean_abs = sums_.abs_error / n;
    s.outside_allclose_1e3 = static_cast<double>(sums_.outside_1e3) / n;
    s.outside_allclose_1e2 = static_cast<double>(sums_.outside_1e2) / n;
    s.shrink_z = shrink_ / std::sqrt(std::max(shrink_variance_, suite_clip_variance_floor));
    s.temperature_z =
        temperature_ / std::sqrt(std::max(temperature_variance_, suite_clip_variance_floor));
  }

  // For finite outputs, a NaN statistic is a bug in plumbline and not in the kernel.
  void require_numbers() const {
    if (!is_finite_) return;
    for (const Statistic& statistic : error_statistics) {
      if (!is_measured(statistic, result_.statistics) ||
          !std::isnan(result_.statistics.*statistic.value) || !plumbline::is_finite(reference_))
        continue;
      throw HarnessFailure(
          {"", 0,
           fmt::format("internal error: the statistic {} of finite outputs is not a number ({})",
                       statistic.column, problem_id(geometry_.problem())),
           "report it, with this line"});
    }
  }

  const Geometry& geometry_;
  const OutputView& outputs_;
  const Reference& reference_;
  std::int64_t columns_;
  bool is_finite_ = true;  // all compared outputs are finite
  Comparison result_;
  ErrorPictureBuilder picture_;
  Sums sums_;
  std::vector<double> got_;
  std::vector<std::int64_t> head_rows_;
  std::int64_t fixed_elements_ = 0;
  double shrink_ = 0, temperature_ = 0, shrink_variance_ = 0, temperature_variance_ = 0;
};

}  // namespace

double error_beyond_output(const Reference& reference, std::size_t at, double error, DType out) {
  const double unit = ulp(reference.o[at] * (1 + 2 * unit_roundoff(out)), out);
  // NaN - unit/2 stays NaN; std::max(0, NaN) would not.
  const double beyond = std::abs(error) - reference.output_units * unit;
  return beyond <= 0 ? 0 : beyond / reference.spre[at];
}

Comparison compare(const Geometry& geometry, const OutputView& outputs,
                   const Reference& reference) {
  const UsualFloatingPoint state;
  return Comparer(geometry, outputs, reference).run();
}

bool is_finite(const Reference& reference) {
  // The LSE is not checked, because it is -inf in rows without keys.
  return std::all_of(reference.o.begin(), reference.o.end(),
                     [](double o) { return std::isfinite(o); }) &&
         std::all_of(reference.sigma.begin(), reference.sigma.end(),
                     [](float sigma) { return std::isfinite(sigma); });
}

bool within_limits(const ErrorStatistics& s, const Limits& limits) {
  return std::all_of(
      deciding_statistics.begin(), deciding_statistics.end(), [&](const Statistic& statistic) {
        return !is_measured(statistic, s) || within(s.*statistic.value, limits.*statistic.limit);
      });
}

const Statistic& nearest_to_limit(const Comparison& comparison, const Limits& limits) {
  const Statistic* nearest = &deciding_statistics.front();
  double best = -1;  // share of its limit
  const auto look_at = [&](WorstAt place) {
    for (const Statistic& statistic : deciding_statistics) {
      if (statistic.worst != place || !is_measured(statistic, comparison.statistics)) continue;
      const double share = comparison.statistics.*statistic.value / limits.*statistic.limit;
      if (exceeds(share, best)) nearest = &statistic, best = share;
    }
  };
  look_at(WorstAt::output);
  if (within(best, 1)) look_at(WorstAt::row_output);
  if (within(best, 1)) look_at(WorstAt::elsewhere);
  return *nearest;
}

double rms_of(const std::vector<float>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0,
                                     [](double s, float x) { return s + double{x} * double{x}; });
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

ElementId element_of(const Reference& reference, const Maximum& maximum) {
  if (maximum.row < 0) return {};
  const auto& id = reference.selection.rows[static_cast<std::size_t>(maximum.row)];
  return {id.sample, id.head, id.row, maximum.column};
}

std::vector<double> rows_of(const Geometry& geometry, const OutputView& outputs,
                            const Reference& reference) {
  const auto columns = static_cast<std::size_t>(reference.columns);
  const DType dtype = geometry.problem().out();
  std::vector<double> rows(reference.selection.rows.size() * columns);
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const auto& id = reference.selection.rows[r];
    const auto offset = static_cast<std::size_t>(geometry.out_offset(id.sample, id.row, id.head)) *
                        size_in_bytes(dtype);
    decode(dtype, static_cast<const std::byte*>(outputs.out) + offset,
           std::span<double>(rows).subspan(r * columns, columns));
  }
  return rows;
}

double row_value(const Geometry& geometry, const OutputView& outputs, RowOutput output,
                 const RowId& row) {
  const double value =
      decode_at(DType::f32, outputs.*row_output_data[output],
                static_cast<std::size_t>(geometry.lse_offset(row.sample, row.row, row.head)));
  return output == RowOutput::lse && outputs.lse_base == 2 ? value * std::numbers::ln2 : value;
}

double lse_at(const Geometry& geometry, const OutputView& outputs, const RowId& row) {
  return row_value(geometry, outputs, RowOutput::lse, row);
}

std::vector<double> lse_errors(const Geometry& geometry, const OutputView& outputs,
                               const Reference& reference) {
  std::vector<double> errors;
  if (outputs.lse == nullptr) return errors;
  for (std::size_t r = 0; r < reference.lse.size(); ++r) {
    errors.push_back(reference.visible[r] == 0
                         ? 0
                         : lse_at(geometry, outputs, reference.selection.rows[r]) -
                               reference.lse[r]);
  }
  return errors;
}

WorstElement describe_worst(const Geometry& geometry, const InputView& inputs,
                            const OutputView& outputs, const RoundingSpec& spec,
                            const Reference& reference, const Statistic& statistic,
                            const Maximum& maximum) {
  WorstElement worst;
  worst.element = element_of(reference, maximum);
  const auto r = static_cast<std::size_t>(maximum.row);
  const RowId& id = reference.selection.rows[r];
  worst.visible_keys = reference.visible[r];
  if (statistic.of) {
    worst.element.column = column_of(*statistic.of);
    worst.got = row_value(geometry, outputs, *statistic.of, id);
    worst.expected = (reference.*reference_rows[*statistic.of].value)[r];
    worst.sigma = (reference.*reference_rows[*statistic.of].sigma)[r];
    worst.ulp = ulp(worst.expected, DType::f32);
    return worst;
  }
  const DType dtype = geometry.problem().out();
  const auto at =
      r * static_cast<std::size_t>(reference.columns) + static_cast<std::size_t>(maximum.column);
  worst.got = decode_at(
      dtype, outputs.out,
      static_cast<std::size_t>(geometry.out_offset(id.sample, id.row, id.head) + maximum.column));
  worst.expected = reference.o[at];
  worst.sigma = reference.sigma[at];
  worst.ulp = ulp(worst.expected, dtype);
  worst.share = explain(geometry, inputs, spec, id, maximum.column).share;
  return worst;
}

}  // namespace plumbline
