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
constexpr double min_share_of_factor =
    0.75;  // share of the squared error that a named factor explains

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
  bool has_lse() const { return failing_.outputs.lse != nullptr; }

  // Returns the least-squares factor of all rows.
  double common() const {
    double along = 0, squared = 0;
    for (const auto& [r, row] : rows_)
      along += row.factor * row.expected2, squared += row.expected2;
    return along / squared;
  }

  // Returns true if the common factor is not 1, beyond rounding.
  bool has_common_factor() const {
    double squared = 0;
    for (const auto& [r, row] : rows_) squared += row.expected2;
    return std::abs(common() - 1) > clear / std::sqrt(squared);
  }

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

  // Returns true if only rounding remains after `factor` is removed from all rows; nullopt: each
  // row's own factor.
  bool explains(std::optional<double> factor) const {
    double squared = 0;
    for (const auto& [r, row] : rows_) {
      const double of_row = factor.value_or(row.factor);
      for (std::size_t j = 0; j < columns_; ++j) {
        const std::size_t at = r * columns_ + j;
        const double sigma =
            double{failing_.reference->sigma[at]} * std::max(1.0, std::abs(of_row));
        const double z = (got_[at] - of_row * failing_.reference->o[at]) / sigma;
        if (!(std::abs(z) <= failing_.limits.peak)) return false;
        squared += z * z;
      }
    }
    return squared <=
           std::pow(failing_.limits.rms, 2) * static_cast<double>(rows_.size() * columns_);
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

  // Returns how many LSEs are too large and how many too small.
  std::pair<std::size_t, std::size_t> lse_off() const {
    std::size_t large = 0, small = 0;
    for (const auto& [r, row] : rows_) {
      if (std::abs(row.lse_error) > clear * row.lse_sigma) ++(row.lse_error > 0 ? large : small);
    }
    return {large, small};
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

// Returns true if each stored LSE is a number of this dtype, next to the LSE toward zero.
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
  if (common > 0 && !only_lse_fails(failing) && factors.explains(common))
    return outputs_text(common, factors.has_lse());
  return "";
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
  if (!(common > 0) || !factors.has_common_factor() || !factors.explains(common)) return "";
  const bool is_one = wrong.size() == 1;
  return fmt::format("the outputs of head{} {} are {} too {}, those of the other heads are right",
                     is_one ? "" : "s", fmt::join(wrong, ", "), text_above_one(ratio),
                     common > 1 ? "large" : "small");
}

std::string denominator_by_lse(const FailingOutput& failing) {
  const Factors factors(failing);
  if (factors.empty()) return "";
  const double common = factors.common();
  const auto [large, small] = factors.lse_off();
  const auto off = static_cast<double>(large + small);
  const bool has_factor = off > 0 && factors.has_common_factor();
  if (has_factor && common < 1 && static_cast<double>(large) >= min_agreeing_share * off)
    return denominator_text(true, "");
  if (has_factor && common > 1 && static_cast<double>(small) >= min_agreeing_share * off)
    return denominator_text(false, "");
  return off > 0 && factors.lse_agrees() ? denominator_of(factors) : "";
}

std::string nearest_factor(const FailingOutput& failing) {
  if (std::string by_lse = denominator_by_lse(failing); !by_lse.empty()) return by_lse;
  const Factors factors(failing);
  if (factors.empty()) return "";
  const double common = factors.common();
  const auto [large, small] = factors.lse_off();
  if (factors.share_of_common() < min_share_of_factor) return "";
  return common > 0 ? outputs_text(common, factors.has_lse() && large + small == 0) : "";
}

std::string wrong_heads_only(const FailingOutput& failing) {
  const Reference& reference = *failing.reference;
  const auto pairs = error_by(reference, *failing.comparison,
                              [](const RowId& id) { return std::pair(id.sample, id.head); });
  const auto wrong_pairs = wrong_parts(pairs);
  if (!wrong_pairs || wrong_pairs->empty() || wrong_pairs->size() == pairs.size()) return "";
  if (wrong_pairs->size() == 1) {
    const auto& [sample, head] = wrong_pairs->front();
    return fmt::format(
        "head {} of sample {} is wrong, the others are right: a wrong key head, stride or slot of "
        "that head",
        head, sample);
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
  if (wrong == 1)
    return fmt::format(
        "head {} of {} is wrong, the others are right: a wrong key head, stride or slot of that "
        "head",
        list, all);
  return fmt::format("heads {}{} of {} are wrong, the others are right", list,
                     wrong > 8 ? ", …" : "", all);
}

}  // namespace plumbline
