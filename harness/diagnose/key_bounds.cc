// Computes each row under every bound by moving one key at a time across the bound.
#include "harness/diagnose/key_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double bound_cost_limit = 2e6;  // multiply-adds of all rows
constexpr std::size_t bound_rows = 4;

enum class Zeros { both, k, v };
constexpr std::array zero_tensors{Zeros::both, Zeros::k, Zeros::v};

std::string_view in_words(Zeros zeros) {
  return zeros == Zeros::both ? "K and V are" : zeros == Zeros::k ? "K is" : "V is";
}

// A row's misfit for each number of its keys that may lie before the bound.
struct BoundedRow {
  RowId id;
  bool is_wrong = false;           // as stated
  std::vector<std::int64_t> keys;  // visible, ascending
  std::vector<bool> fits;          // [n]: the first n keys are before the bound
  std::vector<double> squared;     // misfit, [n]

  std::size_t keys_before(std::int64_t bound) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(keys, bound) - keys.begin());
  }
};

class BoundSearch {
 public:
  BoundSearch(const FailingOutput& failing, const RowCalculator& calculator,
              const std::vector<std::size_t>& indices, Zeros zeros)
      : failing_(failing), geometry_(*failing.geometry), calculator_(calculator), zeros_(zeros) {
    for (const std::size_t r : indices) rows_.push_back(bounded(r));
  }

  std::string sentence() const {
    if (std::ranges::none_of(rows_, &BoundedRow::is_wrong)) return "";
    for (const OffsetBound& offset : offset_bounds()) {
      if (geometry_.problem().is_paged()) break;
      const auto bound_of = [&](const BoundedRow& row) {
        return offset.key(geometry_, zeros_ == Zeros::v, row.id.sample,
                          row.id.head / geometry_.problem().group());
      };
      if (!misfit(bound_of)) continue;
      const auto worst = std::ranges::find_if(rows_, &BoundedRow::is_wrong);
      return text(bound_of(*worst)) + ", where " + offset.text();
    }
    std::int64_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t bound = 1; bound <= last_key(); ++bound) {
      const auto found = misfit([bound](const BoundedRow&) { return bound; });
      if (found && *found < least) least = *found, best = bound;
    }
    return best == 0 ? "" : text(best);
  }

 private:
  std::string text(std::int64_t bound) const {
    return fmt::format("keys from {} on are read from elsewhere: {} zero there", bound,
                       in_words(zeros_));
  }

  // Returns the squared error of all rows, or nullopt unless each fits.
  template <class BoundOf>
  std::optional<double> misfit(const BoundOf& bound_of) const {
    double sum = 0;
    for (const BoundedRow& row : rows_) {
      const std::size_t n = row.keys_before(bound_of(row));
      if (!row.fits[n]) return std::nullopt;
      sum += row.squared[n];
    }
    return sum;
  }

  std::int64_t last_key() const {
    std::int64_t last = 0;
    for (const BoundedRow& row : rows_) last = std::max(last, row.keys.back());
    return last;
  }

  BoundedRow bounded(std::size_t r) const {
    BoundedRow row;
    row.id = calculator_.row(r);
    row.is_wrong =
        !(zeros_ == Zeros::k ? calculator_.is_right(r) : calculator_.is_right_on_average(r));
    const std::vector<KeyLogit> logits = calculator_.seen_logits(row.id);
    RowSums sums = start(row.id, logits);
    std::vector<double> value(sums.before.size());
    for (std::size_t n = 0;; ++n) {
      const RowMisfit misfit = calculator_.misfit(r, answer(sums));
      row.fits.push_back(calculator_.fits(misfit));
      row.squared.push_back(misfit.squared + misfit.lse * misfit.lse);
      if (n == logits.size()) return row;
      row.keys.push_back(logits[n].key);
      read_value(row.id, logits[n].key, value);
      sums.move(weights(row.id, logits[n], sums.maximum), value);
    }
  }

  // The weight of a key before the bound and after it, relative to the maximum.
  struct Weights {
    double before = 0, after = 0;
  };
  Weights weights(const RowId& id, const KeyLogit& key, double maximum) const {
    return {std::exp(key.logit - maximum), std::exp(logit_after(id, key) - maximum)};
  }
  double logit_after(const RowId& id, const KeyLogit& key) const {
    return zeros_ == Zeros::v ? key.logit : calculator_.shape(id).logit(0, key.key);
  }

  struct RowSums {
    double maximum = 0;
    double of_sink = 0, missing_bias = 0;
    double weight_before = 0, weight_after = 0;
    std::vector<double> before, after;  // sums of weight times V
    void move(const Weights& key, std::span<const double> value) {
      weight_before += key.before, weight_after -= key.after;
      for (std::size_t j = 0; j < value.size(); ++j) {
        before[j] += key.before * value[j];
        after[j] -= key.after * value[j];
      }
    }
  };

  // Returns the sums if all keys are after the bound.
  RowSums start(const RowId& id, const std::vector<KeyLogit>& logits) const {
    const bool has_sink = !calculator_.side().sinks.empty();
    const double sink =
        has_sink ? calculator_.stated(id).sink : -std::numeric_limits<double>::infinity();
    RowSums sums;
    sums.maximum = sink;
    for (const KeyLogit& key : logits)
      sums.maximum = std::max({sums.maximum, key.logit, logit_after(id, key)});
    sums.of_sink = std::exp(sink - sums.maximum);
    sums.missing_bias = calculator_.missing_bias(id);
    sums.before.assign(static_cast<std::size_t>(geometry_.problem().head_dim_vo), 0);
    sums.after = sums.before;
    std::vector<double> value(sums.before.size());
    for (const KeyLogit& key : logits) {
      const double weight = weights(id, key, sums.maximum).after;
      sums.weight_after += weight;
      read_value(id, key.key, value);
      for (std::size_t j = 0; j < value.size(); ++j) sums.after[j] += weight * value[j];
    }
    return sums;
  }

  void read_value(const RowId& id, std::int64_t key, std::span<double> to) const {
    calculator_.read_value(id.sample, key, id.head / geometry_.problem().group(), to);
  }

  CalculatedRow answer(const RowSums& sums) const {
    const double of_keys = sums.weight_before + std::max(0.0, sums.weight_after),
                 total = of_keys + sums.of_sink;
    CalculatedRow answer;
    answer.has_stated_values = zeros_ == Zeros::k;
    for (std::size_t j = 0; j < sums.before.size(); ++j) {
      const double after = zeros_ == Zeros::k ? sums.after[j] : 0;
      answer.o.push_back((sums.before[j] + after) / total);
    }
    answer.lse = sums.maximum + std::log(failing_.spec->lse_includes_sink ? total : of_keys) -
                 sums.missing_bias;
    return answer;
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const RowCalculator& calculator_;
  const Zeros zeros_;
  std::vector<BoundedRow> rows_;
};

}  // namespace

std::int64_t OffsetBound::key(const Geometry& geometry, bool of_v, std::int64_t sample,
                              std::int64_t head_kv) const {
  const std::int64_t length = geometry.length_kv(sample), all = geometry.problem().seq_kv;
  if (length < 2) return all;
  const auto offset = [&](std::int64_t key) {
    return of_v ? geometry.v_offset(sample, key, head_kv) : geometry.k_offset(sample, key, head_kv);
  };
  const std::int64_t first = offset(0), stride = offset(1) - first;
  const auto unit =
      static_cast<double>(in_bytes ? size_in_bytes(of_v ? geometry.v.dtype : geometry.k.dtype) : 1);
  const double left = limit / unit - (of_sample ? 0 : static_cast<double>(first)),
               key = std::ceil(left / static_cast<double>(stride));
  return key < static_cast<double>(all) ? std::max<std::int64_t>(0, static_cast<std::int64_t>(key))
                                        : all;
}

std::string OffsetBound::text() const {
  return fmt::format("{} passes 2^{} {}",
                     of_sample ? "key * stride" : "the offset from the first key of the tensor",
                     limit > 0x1p31 ? 32 : 31, in_bytes ? "bytes" : "elements");
}

std::vector<OffsetBound> offset_bounds() {
  std::vector<OffsetBound> bounds;
  for (const double limit : {0x1p31, 0x1p32}) {
    for (const bool of_sample : {true, false}) {
      for (const bool in_bytes : {false, true}) bounds.push_back({limit, in_bytes, of_sample});
    }
  }
  return bounds;
}

std::string zeros_from_a_key(const FailingOutput& failing) {
  if (failing.geometry->problem().is_merge()) return "";
  const RowCalculator calculator(failing);
  const auto rows = informative_rows(failing, bound_rows, bound_cost_limit);
  for (const Zeros zeros : zero_tensors) {
    if (rows.empty() || failing.late()) break;
    if (std::string found = BoundSearch(failing, calculator, rows, zeros).sentence();
        !found.empty())
      return found;
  }
  return "";
}

}  // namespace plumbline
