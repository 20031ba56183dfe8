// Looks at single elements and rows of the compared output.
#include "harness/diagnose/single_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/diagnose/error_parts.h"

namespace plumbline {
namespace {

constexpr std::size_t max_elements = 8, max_single_rows = 8;
constexpr double max_share = 0.01;  // of the elements
// An element within its limits is also wrong if it exceeds this share of the limit of peak and
// suspicious_rms times the rms error of the others.
constexpr double suspicious_share = 0.6, suspicious_rms = 5;
constexpr double max_share_of_rows = 0.05;
// Limits of the rms error of all right elements, and of those in the row or column of a wrong one.
// The first is that of kernels that round like the strict spec, because failing.limits are wider
// for few rows.
constexpr double right_rms = Limits{}.rms, right_rms_of_line = 1.5;

// The elements beyond their limits, and what is left without them.
class Elements {
 public:
  explicit Elements(const FailingOutput& failing)
      : failing_(failing), columns_(static_cast<std::size_t>(failing.reference->columns)) {
    const std::vector<float>& z = failing.comparison->z;
    for (std::size_t i = 0; i < z.size() && wrong_.size() <= max_elements; ++i) {
      if (is_wrong(i)) wrong_.push_back(i);
    }
    if (static_cast<double>(wrong_.size()) > max_share * static_cast<double>(z.size()))
      wrong_.clear();
    if (wrong_.size() > max_elements) wrong_.clear();
    if (!wrong_.empty()) add_suspicious();
  }

  const std::vector<std::size_t>& wrong() const { return wrong_; }

  // Returns true if all other elements, and those in the same rows and columns, look like rounding.
  bool others_are_right() const {
    ErrorStatistics others = failing_.comparison->statistics;
    others.peak = others.beyond_output = 0;
    others.rms = rms([](std::size_t) { return true; });
    if (!within_limits(others, failing_.limits) || others.rms > right_rms) return false;
    return std::ranges::all_of(wrong_, [&](std::size_t at) {
      return rms([&](std::size_t i) { return i / columns_ == at / columns_; }) <=
                 right_rms_of_line &&
             rms([&](std::size_t i) { return i % columns_ == at % columns_; }) <= right_rms_of_line;
    });
  }

 private:
  // Adds wrong elements that a loose spec keeps within their limits.
  void add_suspicious() {
    const double threshold = std::max(suspicious_share * failing_.limits.peak,
                                      suspicious_rms * rms([](std::size_t) { return true; }));
    std::vector<std::size_t> all = wrong_;
    for (std::size_t i = 0; i < failing_.comparison->z.size(); ++i) {
      const bool stands_out = std::abs(double{failing_.comparison->z[i]}) > threshold;
      if (stands_out && !std::ranges::binary_search(wrong_, i)) all.push_back(i);
    }
    if (all.size() > max_elements) return;
    std::ranges::sort(all);
    wrong_ = std::move(all);
  }
  bool is_wrong(std::size_t i) const {
    const Reference& reference = *failing_.reference;
    const double z = failing_.comparison->z[i],
                 beyond = error_beyond_output(reference, i, z * double{reference.sigma[i]},
                                              failing_.geometry->problem().out());
    const bool is_right =
        within(std::abs(z), failing_.limits.peak) && within(beyond, failing_.limits.beyond_output);
    return z != 0 && !is_right;
  }
  // Returns the rms error of the right elements that are chosen, in rows with visible keys.
  template <class Chosen>
  double rms(const Chosen& chosen) const {
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < failing_.comparison->z.size(); ++i) {
      const bool counts = failing_.reference->visible[i / columns_] > 0 && chosen(i) &&
                          !std::ranges::binary_search(wrong_, i);
      if (!counts) continue;
      squares += std::pow(double{failing_.comparison->z[i]}, 2);
      ++count;
    }
    return count > 0 ? std::sqrt(squares / count) : 0;
  }

  const FailingOutput& failing_;
  const std::size_t columns_;
  std::vector<std::size_t> wrong_;  // ascending
};

// Returns "2 rows are wrong, all others are right: ". Adds the number of compared ones if the rows
// are a sample.
std::string are_wrong(std::size_t wrong, std::string_view what, std::size_t compared,
                      const Reference& reference) {
  const std::string of =
      reference.selection.sampled ? fmt::format(" of {} compared ones", compared) : "";
  return wrong == 1 ? fmt::format("one {} is wrong, all others{} are right: ", what, of)
                    : fmt::format("{} {}s are wrong, all others{} are right: ", wrong, what, of);
}

}  // namespace

std::string few_elements(const FailingOutput& failing) {
  const Faults& faults = *failing.faults;
  if (faults.total() != faults.out_of_range + faults.inexact) return "";
  const Elements elements(failing);
  const std::vector<std::size_t>& wrong = elements.wrong();
  if (wrong.empty() || !elements.others_are_right()) return "";
  const Reference& reference = *failing.reference;
  std::vector<std::string> places;
  for (const std::size_t i : wrong) {
    const auto columns = static_cast<std::size_t>(reference.columns);
    const RowId& id = reference.selection.rows[i / columns];
    places.push_back(fmt::format("column {} of row {}, head {}, sample {}", i % columns, id.row,
                                 id.head, id.sample));
  }
  return are_wrong(wrong.size(), "element", failing.comparison->z.size(), reference) +
         fmt::format("{}", fmt::join(places, "; "));
}

std::string rows_without_answer(const FailingOutput& failing) {
  const ErrorStatistics& statistics = failing.comparison->statistics;
  if (failing.outputs.lse == nullptr || std::isfinite(statistics.lse_z)) return "";
  const Reference& reference = *failing.reference;
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, reference);
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::map<std::int64_t, std::set<std::int64_t>> rows;  // by sample
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    const RowId& id = reference.selection.rows[r];
    const double lse = lse_at(*failing.geometry, failing.outputs, id);
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(r * columns);
    const bool zeros = std::all_of(begin, begin + static_cast<std::ptrdiff_t>(columns),
                                   [](double x) { return x == 0; });
    if (!zeros || !std::isinf(lse) || lse > 0) continue;
    rows[id.sample].insert(id.row);
  }
  if (rows.empty()) return "";
  const auto& [sample, all] = *rows.begin();
  std::vector<std::int64_t> first(all.begin(), all.end());
  const bool is_cut = first.size() > max_single_rows;
  if (is_cut) first.resize(max_single_rows);
  return fmt::format(
      "row{} {}{} of sample {}{} answer{} as if {} saw no key: O is 0 and the LSE "
      "-infinity, but keys are visible",
      first.size() == 1 ? "" : "s", fmt::join(first, ", "), is_cut ? " …" : "", sample,
      rows.size() > 1 ? " and of other samples" : "", first.size() == 1 ? "s" : "",
      first.size() == 1 ? "it" : "they");
}

std::string few_rows(const FailingOutput& failing) {
  if (failing.faults->nan > 0 || failing.faults->inf > 0 || failing.faults->unwritten > 0)
    return "";
  const ErrorStatistics& statistics = failing.comparison->statistics;
  if (statistics.has_elsewhere && !within(statistics.elsewhere, failing.limits.elsewhere))
    return "";
  const Reference& reference = *failing.reference;
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::vector<std::size_t> wrong;
  ErrorPart right;
  double seen = 0;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    ++seen;
    const ErrorPart row = error_of_row(*failing.comparison, columns, r);
    if (row.is_wrong()) {
      wrong.push_back(r);
      continue;
    }
    for (std::size_t j = 0; j < columns; ++j) {
      if (!(std::abs(failing.comparison->z[r * columns + j]) <= failing.limits.peak)) return "";
    }
    right.add(row);
  }
  if (wrong.empty() || wrong.size() > max_single_rows ||
      static_cast<double>(wrong.size()) > max_share_of_rows * seen ||
      std::sqrt(right.mean()) > failing.limits.rms)
    return "";
  std::vector<std::string> places;
  for (const std::size_t r : wrong) {
    const RowId& id = reference.selection.rows[r];
    places.push_back(fmt::format("row {}, head {}, sample {}", id.row, id.head, id.sample));
  }
  return are_wrong(wrong.size(), "row", static_cast<std::size_t>(seen), reference) +
         fmt::format("{}", fmt::join(places, "; "));
}

}  // namespace plumbline
