// Looks for one key whose p_k v_kj explains the errors of adjacent wrong columns.
#include "harness/diagnose/lost_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/reference/key_values.h"
#include "harness/reference/reference.h"

namespace plumbline {
namespace {

constexpr double lost_cost_limit = 1e6;  // multiply-adds
constexpr std::size_t lost_worst_rows = 6;
constexpr double max_residual = 2;  // times the limit of `peak`

// A row of the reference, with its errors in the wrong columns.
struct LossRow {
  RowDetail detail;
  std::vector<double> errors, sigma;
  double squared = 0;  // sum of (error / sigma)^2
};

class LossSearch {
 public:
  explicit LossSearch(const FailingOutput& failing)
      : failing_(failing),
        geometry_(*failing.geometry),
        key_values_(geometry_, failing.inputs.k, failing.inputs.v, InputRounding(*failing.spec)),
        columns_(static_cast<std::size_t>(failing.reference->columns)),
        got_(rows_of(geometry_, failing.outputs, *failing.reference)) {}

  // Finds the wrong columns of the chosen rows; false unless they are adjacent and not all columns.
  bool load() {
    const Reference& reference = *failing_.reference;
    const auto rows = informative_rows(failing_, lost_worst_rows, lost_cost_limit);
    std::vector<bool> is_wrong(columns_);
    for (const std::size_t r : rows) {
      for (std::size_t j = 0; j < columns_; ++j) {
        const std::size_t i = r * columns_ + j;
        if (!(std::abs(got_[i] - reference.o[i]) <=
              failing_.limits.peak * double{reference.sigma[i]}))
          is_wrong[j] = true;
      }
    }
    const auto first = std::ranges::find(is_wrong, true);
    begin_ = static_cast<std::size_t>(first - is_wrong.begin());
    const auto last = std::find(is_wrong.rbegin(), is_wrong.rend(), true);
    end_ = static_cast<std::size_t>(is_wrong.rend() - last);
    if (begin_ >= end_ || end_ - begin_ == columns_) return false;
    for (const std::size_t r : rows) {
      LossRow row{
          reference_row(geometry_, failing_.inputs, *failing_.spec, reference.selection.rows[r]),
          {},
          {},
          0};
      for (std::size_t j = begin_; j < end_; ++j) {
        const std::size_t i = r * columns_ + j;
        row.errors.push_back(got_[i] - reference.o[i]);
        row.sigma.push_back(double{reference.sigma[i]});
        row.squared += std::pow(row.errors.back() / row.sigma.back(), 2);
      }
      ids_.push_back(reference.selection.rows[r]);
      loaded_.push_back(std::move(row));
    }
    return true;
  }

  // Returns the key whose loss explains best the row with the largest error; -1 if there is none.
  std::int64_t likeliest_key() const {
    const auto row = static_cast<std::size_t>(
        std::ranges::max_element(loaded_, {}, &LossRow::squared) - loaded_.begin());
    const RowDetail& detail = loaded_[row].detail;
    std::int64_t best = -1;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < detail.p.size(); ++n) {
      const std::int64_t key = detail.keys.begin + static_cast<std::int64_t>(n);
      const double left = largest_residual(row, key);
      if (left < smallest) smallest = left, best = key;
    }
    return best;
  }

  bool explains_all(std::int64_t key) const {
    if (key < 0) return false;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (!(largest_residual(i, key) <= max_residual * failing_.limits.peak)) return false;
    }
    return true;
  }

  std::string text(std::int64_t key) const {
    const bool is_last = std::ranges::all_of(
        ids_, [&](const RowId& id) { return key == geometry_.length_kv(id.sample) - 1; });
    return fmt::format("columns {} to {} of the output lack V of {}{}", begin_, end_ - 1,
                       is_last ? "the last key, " : "key ", key);
  }

 private:
  // Returns the largest |error + p_k v_kj| / sigma of a row. A key that the row does not see may
  // lie after the end of its sample, so its V is not read.
  double largest_residual(std::size_t i, std::int64_t key) const {
    const LossRow& row = loaded_[i];
    const std::int64_t at = key - row.detail.keys.begin;
    const bool is_in_range = at >= 0 && at < static_cast<std::int64_t>(row.detail.p.size());
    const double p = is_in_range ? row.detail.p[static_cast<std::size_t>(at)] : 0;
    std::vector<double> value(columns_);
    if (p > 0)
      key_values_.value(ids_[i].sample, key, ids_[i].head / geometry_.problem().group(), value);
    double largest = 0;
    for (std::size_t j = 0; j < row.errors.size(); ++j) {
      const double left = std::abs(row.errors[j] + p * value[begin_ + j]) / row.sigma[j];
      if (!(left <= largest)) largest = left;
    }
    return largest;
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const KeyValues key_values_;
  const std::size_t columns_;
  const std::vector<double> got_;
  std::size_t begin_ = 0, end_ = 0;
  std::vector<RowId> ids_;
  std::vector<LossRow> loaded_;
};

}  // namespace

std::string lost_columns(const FailingOutput& failing) {
  if (failing.geometry->problem().is_merge()) return "";
  LossSearch search(failing);
  if (!search.load()) return "";
  const std::int64_t key = search.likeliest_key();
  return search.explains_all(key) ? search.text(key) : "";
}

}  // namespace plumbline
