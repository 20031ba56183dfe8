// Looks at the LSEs of all rows, also of those without a reference.
#include "harness/diagnose/lse_faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

constexpr std::size_t max_named_rows = 8;

// The rows with one kind of fault in their LSE.
struct LseRows {
  std::int64_t count = 0;                               // in all heads
  std::map<std::int64_t, std::set<std::int64_t>> rows;  // by sample

  void add(std::int64_t sample, std::int64_t row) {
    ++count;
    rows[sample].insert(row);
  }
  // Returns "rows 0, 1 of sample 0 and of other samples".
  std::string text() const {
    const auto& [sample, all] = *rows.begin();
    std::vector<std::int64_t> first(all.begin(), all.end());
    const bool is_cut = first.size() > max_named_rows;
    if (is_cut) first.resize(max_named_rows);
    return fmt::format("row{} {}{} of sample {}{}", first.size() == 1 ? "" : "s",
                       fmt::join(first, ", "), is_cut ? " …" : "", sample,
                       rows.size() > 1 ? " and of other samples" : "");
  }
};

// Infinite LSEs where keys are visible, and LSEs of +infinity where none is.
struct InfiniteLses {
  LseRows minus, plus, empty;
  std::int64_t with_keys() const { return minus.count + plus.count; }
  std::string text() const {
    const LseRows& most = minus.count >= plus.count ? minus : plus;
    return fmt::format("LSE of {}infinity where keys are visible: {}",
                       plus.count == 0    ? "-"
                       : minus.count == 0 ? "+"
                                          : "-infinity and +",
                       most.text());
  }
};

InfiniteLses infinite_lses(const FailingOutput& failing) {
  InfiniteLses found;
  const Geometry& geometry = *failing.geometry;
  if (failing.outputs.lse == nullptr) return found;
  for (std::int64_t sample = 0; sample < geometry.problem().batch; ++sample) {
    for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
      for (std::int64_t head = 0; head < geometry.problem().heads_q; ++head) {
        RowId id;
        id.sample = static_cast<decltype(id.sample)>(sample);
        id.head = static_cast<decltype(id.head)>(head);
        id.row = static_cast<decltype(id.row)>(row);
        const double lse = lse_at(geometry, failing.outputs, id);
        if (!std::isinf(lse)) continue;
        const bool is_empty = geometry.visible_count(sample, row, head) == 0;
        if (!is_empty) {
          (lse < 0 ? found.minus : found.plus).add(sample, row);
        } else if (lse > 0 && std::isinf(lse_without_keys(geometry.side, head,
                                                          failing.spec->lse_includes_sink))) {
          found.empty.add(sample, row);
        }
      }
    }
  }
  return found;
}

// Returns true if all finite LSEs of the reference's rows are within the limit.
bool finite_lses_are_right(const FailingOutput& failing) {
  const Reference& reference = *failing.reference;
  for (std::size_t r = 0; r < reference.lse.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    const double lse = lse_at(*failing.geometry, failing.outputs, reference.selection.rows[r]);
    if (!std::isinf(lse) &&
        !within(std::abs(lse - reference.lse[r]) / reference.lse_sigma[r], failing.limits.lse))
      return false;
  }
  return true;
}

}  // namespace

std::string infinite_lse(const FailingOutput& failing) {
  const Faults& faults = *failing.faults;
  if (faults.inf == 0 || faults.total() != faults.inf) return "";
  ErrorStatistics outputs = failing.comparison->statistics;
  const bool may_be_wrong_elsewhere =
      outputs.has_elsewhere && !within(outputs.elsewhere, failing.limits.elsewhere);
  outputs.has_lse = outputs.has_elsewhere = false;
  if (!within_limits(outputs, failing.limits) || !finite_lses_are_right(failing)) return "";
  const InfiniteLses found = infinite_lses(failing);
  if (found.with_keys() != faults.inf) return "";
  return found.text() + (may_be_wrong_elsewhere ? "" : "; O is right");
}

std::vector<std::string> causes_of_lse_faults(const FailingOutput& failing, Faults& faults) {
  std::vector<std::string> sentences;
  if (faults.inf == 0 && faults.empty_rows == 0) return sentences;
  const InfiniteLses found = infinite_lses(failing);
  if (found.with_keys() > 0 && faults.inf > 0) {
    sentences.push_back(found.text());
    faults.inf = std::max<std::int64_t>(0, faults.inf - found.with_keys());
  }
  if (found.empty.count > 0 && faults.empty_rows > 0) {
    sentences.emplace_back("the LSE of a row that sees no key is +infinity, -infinity is asked");
    faults.empty_rows = std::max<std::int64_t>(0, faults.empty_rows - found.empty.count);
  }
  return sentences;
}

}  // namespace plumbline
