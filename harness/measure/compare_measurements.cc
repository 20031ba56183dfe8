// Compares the two outputs of a diff on the rows they share, in units of their legal error.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "harness/compare/statistics.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"
#include "harness/outcome/diff_outcome.h"

namespace plumbline {
namespace {

// Identifies a row across the two sides. Position counts from the end of the sample's queries, so
// the last row of a prefill matches the only row of a decode.
using RowKey = std::tuple<std::int32_t, std::int32_t, std::int64_t>;  // sample, head, position

RowKey key_of(const Measurement& m, const RowId& id) {
  return {id.sample, id.head, id.row - m.geometry->length_q(id.sample)};
}

double root_mean(double sum, std::int64_t n) {
  return n > 0 ? std::sqrt(sum / static_cast<double>(n)) : 0;
}

struct RowSums {
  DiffOutcome outcome;
  double rel_sum = 0, a2 = 0, b2 = 0, o2 = 0;
  std::int64_t bit_equal = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, DiffHead> heads;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> head_elements;

  void add_row(const Measurement& a, std::size_t ra, const Measurement& b, std::size_t rb) {
    const auto& id = a.reference->selection.rows[ra];
    auto [head, fresh] =
        heads.try_emplace({id.sample, id.head}, DiffHead{id.sample, id.head, 0, 0, true});
    const auto columns = static_cast<std::size_t>(a.reference->columns);
    const DType dtype = a.geometry->problem().out();
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t ia = ra * columns + j, ib = rb * columns + j;
      const double x = a.rows[ia], y = b.rows[ib], o = a.reference->o[ia];
      const double difference = std::abs(x - y);
      const double sigma =
          std::hypot(double{a.reference->sigma[ia]}, double{b.reference->sigma[ib]});
      const double relative = difference == 0 ? 0 : difference / std::abs(y);
      const ElementId element{id.sample, id.head, id.row, static_cast<std::int64_t>(j)};
      if (exceeds(difference, outcome.max_abs))
        outcome.max_abs = difference, outcome.max_abs_element = element;
      if (exceeds(relative, outcome.max_rel))
        outcome.max_rel = relative, outcome.max_rel_element = element,
        outcome.max_rel_expected = std::abs(o);
      if (exceeds(difference / sigma, outcome.max_sigma)) outcome.max_sigma = difference / sigma;
      const double ulps = difference / ulp(o, dtype);
      if (exceeds(ulps, outcome.max_ulp)) outcome.max_ulp = ulps;
      if (exceeds(difference, head->second.max_abs)) head->second.max_abs = difference;
      head->second.mean_abs += difference;
      outcome.mean_abs += difference;
      rel_sum += relative;
      a2 += (x - o) * (x - o);
      b2 += (y - o) * (y - o);
      o2 += o * o;
      if (x == y) {
        ++bit_equal;
      } else {
        head->second.bit_equal = false;
      }
    }
    head_elements[{id.sample, id.head}] += static_cast<std::int64_t>(columns);
    outcome.elements += static_cast<std::int64_t>(columns);
    ++outcome.rows;
  }

  DiffOutcome finish() {
    const auto n = static_cast<double>(outcome.elements);
    outcome.mean_abs /= n;
    outcome.mean_rel = rel_sum / n;
    outcome.bit_equal_share = static_cast<double>(bit_equal) / n;
    outcome.rms_a = root_mean(a2, outcome.elements);
    outcome.rms_b = root_mean(b2, outcome.elements);
    outcome.rms_output = root_mean(o2, outcome.elements);
    for (auto& [id, head] : heads) {
      head.mean_abs /= static_cast<double>(head_elements[id]);
      ++outcome.heads;
      outcome.heads_bit_equal += head.bit_equal;
      if (outcome.per_head.size() < 4096) outcome.per_head.push_back(head);
    }
    return std::move(outcome);
  }
};

const char* expectation(DiffExpect expect) {
  switch (expect) {
    case DiffExpect::rounding:
      return "rounding";
    case DiffExpect::bitwise:
      return "bitwise";
    case DiffExpect::report:
      return "report";
  }
  return "";
}

}  // namespace

DiffOutcome compare_measurements(const PlannedDiff& diff, const Measurement& a,
                                 const Measurement& b) {
  RowSums sums;
  DiffOutcome& outcome = sums.outcome;
  outcome.suite = diff.suite;
  outcome.name = diff.name;
  outcome.tier = name(diff.tier);
  outcome.expect = expectation(diff.expect);
  outcome.case_a = diff.a.case_id;
  outcome.case_b = diff.b.case_id;
  outcome.time_ns_a = a.outcome.time_ns;
  outcome.time_ns_b = b.outcome.time_ns;
  for (const Measurement* side : {&a, &b}) {
    if (side->outcome.status == Status::ok) continue;
    outcome.status = side->outcome.status;
    outcome.reason = fmt::format("{}: {}", side->outcome.case_id, side->outcome.reason);
    return outcome;
  }
  std::map<RowKey, std::size_t> rows_of_a;
  for (std::size_t r = 0; r < a.reference->selection.rows.size(); ++r)
    rows_of_a[key_of(a, a.reference->selection.rows[r])] = r;
  for (std::size_t r = 0; r < b.reference->selection.rows.size(); ++r) {
    const auto found = rows_of_a.find(key_of(b, b.reference->selection.rows[r]));
    if (found != rows_of_a.end() && a.reference->columns == b.reference->columns &&
        a.reference->visible[found->second] > 0) {
      sums.add_row(a, found->second, b, r);
    }
  }
  if (outcome.rows == 0) {
    outcome.status = Status::error;
    outcome.reason = "the two problems have no row in common";
    return outcome;
  }
  outcome.status = Status::ok;
  return sums.finish();
}

}  // namespace plumbline
