// Tests a failing output for a common factor, a factor per row, truncation and wrong heads.
#include "harness/diagnose/error_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "harness/diagnose/error_parts.h"

namespace plumbline {
namespace {

constexpr double clear = 6;  // standard deviations beyond which a factor or LSE is off
constexpr double min_agreeing_share = 0.9;  // share of rows that must agree
// Rounding to 16 bits changes a factor by at most 2^-8 (bf16, cut off). About half of such changes
// exceed the rounding of a 16-bit output.
constexpr double max_error_of_16_bits = 0x1p-8, min_share_of_rows_off = 0.25;
// Share of the squared error that a common factor must explain, so that its size is given.
constexpr double min_share_of_factor = 0.75;

// The factor by which the output of a reference row is off.
struct RowFactor {
  double factor = 1, sigma = 0;  // got = factor * expected; sigma of factor
  double expected2 = 0;          // sum of (o / sigma)^2
  double lse_error = 0, lse_sigma = 0;
  double log_sigma() const { return sigma / std::max(std::abs(factor), 1e-300); }
  bool is_off() const { return !(std::abs(factor - 1) <= clear * sigma); }
};

class Factors {
 public:
  // Takes the rows of these query heads; empty: of all.
  explicit Factors(const FailingOutput& failing, const std::vector<std::int64_t>& heads = {})
      : failing_(failing),
        columns_(static_cast<std::size_t>(failing.reference->columns)),
        got_(rows_of(*failing.geometry, failing.outputs, *failing.reference)) {
    const auto& rows = failing.reference->selection.rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool is_chosen =
          heads.empty() || std::ranges::find(heads, std::int64_t{rows[r].head}) != heads.end();
      if (failing.reference->visible[r] > 0 && is_chosen) add(r);
    }
  }

  bool empty() const { return rows_.empty(); }
  double rows() const { return static_cast<double>(rows_.size()); }
  bool has_lse() const { return failing_.outputs.lse != nullptr; }

  // Returns the least-squares factor of all rows.
  double common() const {
    double along = 0, squared = 0;
    for (const auto& [r, row] : rows_)
      along += row.factor * row.expected2, squared += row.expected2;
    return along / squared;
  }

  // Returns true if the common factor is not 1, beyond rounding.
  bool has_common_factor() const { return std::abs(common() - 1) > clear * sigma_of_common(); }

  // Returns the share of the squared error that the common factor explains.
  double share_of_common() const {
    const double factor = common();
    double before = 0, after = 0;
    for (const auto& [r, row] : rows_) {
      for (std::size_t at = r * columns_; at < (r + 1) * columns_; ++at) {
        const double sigma = failing_.reference->sigma[at], o = failing_.reference->o[at];
        if (!(sigma > 0)) continue;
        before += std::pow((got_[at] - o) / sigma, 2);
        after += std::pow((got_[at] - factor * o) / sigma, 2);
      }
    }
    return before > 0 ? 1 - after / before : 0;
  }

  // Returns true if all statistics of these rows' outputs are within their limits after `factor` is
  // removed from all rows; nullopt: each row's own factor.
  bool explains(std::optional<double> factor) const {
    const DType dtype = failing_.geometry->problem().out();
    const Limits& limits = failing_.limits;
    double squared = 0;
    for (const auto& [r, row] : rows_) {
      const double of_row = factor.value_or(row.factor), size = std::max(1.0, std::abs(of_row)),
                   sigma_of_factor = factor ? sigma_of_common() : row.sigma;
      for (std::size_t at = r * columns_; at < (r + 1) * columns_; ++at) {
        const double expected = of_row * failing_.reference->o[at],
                     error = std::abs(got_[at] - expected),
                     z = error / (size * double{failing_.reference->sigma[at]});
        // The factor is fitted to rounded outputs, so its own error counts as their rounding.
        const double rounding = failing_.reference->output_units *
                                    ulp(expected * (1 + 2 * unit_roundoff(dtype)), dtype) +
                                clear * sigma_of_factor * std::abs(failing_.reference->o[at]);
        const double beyond =
            std::max(0.0, error - rounding) / (size * double{failing_.reference->spre[at]});
        if (!(within(z, limits.peak) &&
              (error <= rounding || within(beyond, limits.beyond_output))))
          return false;
        squared += z * z;
      }
    }
    return squared <= std::pow(limits.rms, 2) * static_cast<double>(rows_.size() * columns_);
  }

  // Returns true if the LSEs of most rows are off by -ln of their outputs' factor, as a wrong
  // denominator causes.
  bool lse_agrees() const {
    std::size_t agree = 0, off = 0;
    for (const auto& [r, row] : rows_) {
      if (!(row.factor > 0)) return false;
      const double expected = -std::log(row.factor);
      agree +=
          std::abs(row.lse_error - expected) <= clear * std::hypot(row.lse_sigma, row.log_sigma())
              ? 1
              : 0;
      off += row.is_off() ? 1 : 0;
    }
    const bool lse_is_off = std::ranges::any_of(rows_, [](const auto& entry) {
      return std::abs(entry.second.lse_error) > clear * entry.second.lse_sigma;
    });
    return off > 0 && lse_is_off &&
           static_cast<double>(agree) >= min_agreeing_share * static_cast<double>(rows_.size());
  }

  // The rows whose factor is off: how many are too large and too small, and the largest factor or
  // 1 / factor.
  struct Spread {
    std::size_t large = 0, small = 0;
    double farthest = 1;
  };
  Spread spread() const {
    Spread spread;
    for (const auto& [r, row] : rows_) {
      if (!row.is_off()) continue;
      ++(row.factor > 1 ? spread.large : spread.small);
      const double ratio = row.factor > 0 ? std::max(row.factor, 1 / row.factor) : 1;
      spread.farthest = std::max(spread.farthest, ratio);
    }
    return spread;
  }

 private:
  double sigma_of_common() const {
    double squared = 0;
    for (const auto& [r, row] : rows_) squared += row.expected2;
    return 1 / std::sqrt(squared);
  }

  void add(std::size_t r) {
    const Reference& reference = *failing_.reference;
    RowFactor row;
    double along = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      const std::size_t at = r * columns_ + j;
      const double sigma = reference.sigma[at];
      if (!(sigma > 0)) continue;
      along += got_[at] * reference.o[at] / (sigma * sigma);
      row.expected2 += reference.o[at] * reference.o[at] / (sigma * sigma);
    }
    if (!(row.expected2 > 0) || !std::isfinite(along)) return;
    row.factor = along / row.expected2;
    row.sigma = 1 / std::sqrt(row.expected2);
    if (has_lse()) {
      const RowId& id = reference.selection.rows[r];
      row.lse_error = lse_at(*failing_.geometry, failing_.outputs, id) - reference.lse[r];
      row.lse_sigma = double{reference.lse_sigma[r]};
    }
    rows_.emplace_back(r, row);
  }

  const FailingOutput& failing_;
  const std::size_t columns_;
  const std::vector<double> got_;
  std::vector<std::pair<std::size_t, RowFactor>> rows_;
};

// Returns true if there is no LSE or it is within its limit.
bool has_right_lse(const FailingOutput& failing) {
  const ErrorStatistics& statistics = failing.comparison->statistics;
  return !statistics.has_lse || within(statistics.lse_z, failing.limits.lse);
}

std::string denominator_text(bool too_large, const std::string& how_much) {
  return too_large
             ? fmt::format(
                   "the softmax denominator is too large{}: it counts keys twice or keys that are "
                   "hidden, or a rescale is wrong",
                   how_much)
             : fmt::format(
                   "the softmax denominator is too small{}: it misses keys, or a rescale is wrong",
                   how_much);
}

// Outputs that are too large mean a denominator that is too small.
std::string denominator_of(const Factors& factors) {
  const auto [large, small, farthest] = factors.spread();
  const auto off = static_cast<double>(large + small);
  if (static_cast<double>(large) >= min_agreeing_share * off)
    return denominator_text(false, ", by up to " + text_above_one(farthest));
  if (static_cast<double>(small) >= min_agreeing_share * off)
    return denominator_text(true, ", by up to " + text_above_one(farthest));
  return fmt::format(
      "the softmax denominator is wrong, too small in {} rows and too large in {}, by up to {}",
      large, small, text_above_one(farthest));
}

std::string outputs_text(double factor, bool has_lse) {
  const double ratio = std::max(factor, 1 / factor);
  const std::string_view cause =
      has_lse
          ? "the last division, a rescale, or numbers that are cut off instead of rounded; the "
            "LSE is not affected"
          : "the softmax denominator, a rescale, or numbers that are cut off instead of rounded";
  return fmt::format("the outputs are {} too {}: {}", text_above_one(ratio),
                     factor > 1 ? "large" : "small", cause);
}

// Returns true if each stored LSE is the expected LSE cut off to this dtype, up to rounding.
bool is_lse_cut_off(const FailingOutput& failing, DType dtype) {
  const Reference& reference = *failing.reference;
  const double unit = failing.outputs.lse_base == 2 ? std::numbers::ln2 : 1;
  for (std::size_t r = 0; r < reference.lse.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    const double lse = lse_at(*failing.geometry, failing.outputs, reference.selection.rows[r]),
                 stored = lse / unit, expected = reference.lse[r],
                 lost = (expected - lse) * (expected < 0 ? -1 : 1),
                 slack = failing.limits.lse * double{reference.lse_sigma[r]};
    if (std::abs(round_to(stored, dtype) - stored) > 1e-12 * std::abs(stored)) return false;
    if (!(lost >= -slack && lost <= ulp(stored, dtype) * unit + slack)) return false;
  }
  return !reference.lse.empty();
}

}  // namespace

std::string text_above_one(double ratio) {
  return ratio < 1.995 ? fmt::format("{:.2g} %", 100 * (ratio - 1))
                       : fmt::format("{:.3g} times", ratio);
}

std::string truncation(const FailingOutput& failing) {
  if (failing.spec->out_toward_zero || only_lse_fails(failing)) return "";
  const Reference& reference = *failing.reference;
  const DType dtype = failing.geometry->problem().out();
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, reference);
  const auto columns = static_cast<std::size_t>(reference.columns);
  double sum = 0, elements = 0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    if (reference.visible[at / columns] == 0 || reference.o[at] == 0) continue;
    const double unit = ulp(reference.o[at], dtype);
    const double toward_zero = (got[at] - reference.o[at]) * (reference.o[at] > 0 ? 1 : -1) / unit;
    if (!(std::abs(toward_zero + 0.5) <=
          0.5 + failing.limits.peak * double{reference.spre[at]} / unit))
      return "";
    sum += toward_zero;
    ++elements;
  }
  const double mean = elements > 0 ? sum / elements : 0;
  return mean > -0.6 && mean < -0.4
             ? fmt::format("the output is cut off instead of rounded to {}", name(dtype))
             : "";
}

std::string narrowed(const FailingOutput& failing) {
  if (only_lse_fails(failing)) return "";
  const Reference& reference = *failing.reference;
  const DType stored = failing.geometry->problem().out();
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, reference);
  const auto columns = static_cast<std::size_t>(reference.columns);
  for (const DType dtype : {DType::f16, DType::bf16, DType::tf32}) {
    if (unit_roundoff(dtype) <= unit_roundoff(stored)) continue;
    bool fits = !got.empty();
    for (std::size_t at = 0; at < got.size() && fits; ++at) {
      if (reference.visible[at / columns] == 0) continue;
      fits =
          round_to(got[at], dtype) == got[at] &&
          std::abs(got[at] - reference.o[at]) <=
              ulp(reference.o[at], dtype) / 2 + failing.limits.peak * double{reference.sigma[at]};
    }
    if (fits) {
      return fmt::format("the output is rounded to {} before it is stored in {}", name(dtype),
                         name(stored));
    }
  }
  return "";
}

std::string narrowed_lse(const FailingOutput& failing) {
  if (!only_lse_fails(failing)) return "";
  const Reference& reference = *failing.reference;
  const double unit = failing.outputs.lse_base == 2 ? std::numbers::ln2 : 1;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    bool fits = true;
    for (std::size_t r = 0; r < reference.lse.size() && fits; ++r) {
      if (reference.visible[r] == 0) continue;
      const double lse = lse_at(*failing.geometry, failing.outputs, reference.selection.rows[r]),
                   stored = lse / unit, half = ulp(stored, dtype) / 2 * unit;
      fits = std::abs(round_to(stored, dtype) - stored) <= 1e-12 * std::abs(stored) &&
             std::abs(lse - reference.lse[r]) <=
                 half + failing.limits.lse * double{reference.lse_sigma[r]};
    }
    if (fits) return fmt::format("the LSE is rounded to {} before it is stored", name(dtype));
    if (is_lse_cut_off(failing, dtype))
      return fmt::format("the LSE is cut off to {} before it is stored", name(dtype));
  }
  return "";
}

bool only_lse_fails(const FailingOutput& failing) {
  ErrorStatistics outputs = failing.comparison->statistics;
  outputs.has_elsewhere = false;  // covers outputs and LSE
  const bool fails = !within_limits(outputs, failing.limits);
  outputs.has_lse = false;
  return fails && within_limits(outputs, failing.limits);
}

std::string wrong_factor(const FailingOutput& failing) {
  const Factors factors(failing);
  if (factors.empty()) return "";
  const double common = factors.common();
  if (factors.has_lse() && factors.lse_agrees() && factors.explains(std::nullopt))
    return denominator_of(factors);
  if (common > 0 && factors.has_common_factor() && has_right_lse(failing) &&
      factors.explains(common))
    return outputs_text(common, factors.has_lse());
  return "";
}

std::string factor_of_each_row(const FailingOutput& failing) {
  const Factors factors(failing);
  if (factors.empty() || !factors.has_lse() || !has_right_lse(failing)) return "";
  const auto [large, small, farthest] = factors.spread();
  if (static_cast<double>(large + small) < min_share_of_rows_off * factors.rows() ||
      !factors.explains(std::nullopt))
    return "";
  return fmt::format(
      "each row of the output has a factor of its own, up to {} off, and the LSE is right: {}",
      text_above_one(farthest),
      farthest <= 1 + max_error_of_16_bits ? "1/l or a rescale is rounded to 16 bits"
                                           : "the last division or a rescale is wrong");
}

std::string factor_of_heads(const FailingOutput& failing) {
  const auto heads = error_by(*failing.reference, *failing.comparison,
                              [](const RowId& id) { return std::int64_t{id.head}; });
  const auto found = wrong_parts(heads);
  if (!found || found->empty() || found->size() == heads.size()) return "";
  const std::vector<std::int64_t>& wrong = *found;
  const Factors factors(failing, wrong);
  if (factors.empty()) return "";
  const double common = factors.common(), ratio = std::max(common, 1 / common);
  if (!(common > 0) || !factors.has_common_factor() || !has_right_lse(failing) ||
      !factors.explains(common))
    return "";
  const bool is_one = wrong.size() == 1;
  return fmt::format("the outputs of head{} {} are {} too {}, those of the other heads are right",
                     is_one ? "" : "s", fmt::join(wrong, ", "), text_above_one(ratio),
                     common > 1 ? "large" : "small");
}

std::string size_of_common_factor(const FailingOutput& failing) {
  const Factors factors(failing);
  if (factors.empty() || factors.share_of_common() < min_share_of_factor) return "";
  const double common = factors.common();
  if (!(common > 0) || !factors.has_common_factor()) return "";
  return fmt::format("the outputs are {} too {} (denominator, rescale or numbers that are cut off)",
                     text_above_one(std::max(common, 1 / common)), common > 1 ? "large" : "small");
}

std::string wrong_heads_only(const FailingOutput& failing) {
  const Reference& reference = *failing.reference;
  const auto pairs = error_by(reference, *failing.comparison,
                              [](const RowId& id) { return std::pair(id.sample, id.head); });
  const auto wrong_pairs = wrong_parts(pairs);
  if (!wrong_pairs || wrong_pairs->empty() || wrong_pairs->size() == pairs.size()) return "";
  if (wrong_pairs->size() == 1) {
    const auto& [sample, head] = wrong_pairs->front();
    return fmt::format("head {} of sample {} is wrong, the others are right", head, sample);
  }
  const auto heads = error_by(reference, *failing.comparison,
                              [](const RowId& id) { return std::int64_t{id.head}; });
  std::string list;
  std::size_t wrong = 0;
  for (const auto& [head, part] : heads) {
    if (!part.is_wrong()) continue;
    if (++wrong <= 8) list += fmt::format("{}{}", list.empty() ? "" : ", ", head);
  }
  const std::size_t all = heads.size();
  if (wrong == 0 || wrong == all) return "";
  if (wrong == 1) return fmt::format("head {} of {} is wrong, the others are right", list, all);
  return fmt::format("heads {}{} of {} are wrong, the others are right", list,
                     wrong > 8 ? ", …" : "", all);
}

}  // namespace plumbline
