// Compares two measured outputs of one problem and explains the answer: rounding, bug or undecided.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/check/diff_measured.h"
#include "harness/compare/statistics.h"
#include "harness/measure/measurer.h"

namespace plumbline {
namespace {

// Visits all elements of the rows that both references have, for details that compare_measurements
// does not keep.
class Elements {
 public:
  Elements(const MeasuredSide& a, const MeasuredSide& b, const InputView& inputs)
      : a_(a), b_(b), inputs_(inputs) {}

  void add_to(DiffReport& report) {
    std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t>, std::size_t> rows_of_a;
    const auto& selection_a = a_.measurement.reference->selection.rows;
    for (std::size_t r = 0; r < selection_a.size(); ++r) rows_of_a[key(a_, selection_a[r])] = r;
    const auto& selection_b = b_.measurement.reference->selection.rows;
    for (std::size_t r = 0; r < selection_b.size(); ++r) {
      const auto found = rows_of_a.find(key(b_, selection_b[r]));
      if (found != rows_of_a.end() && a_.measurement.reference->visible[found->second] > 0)
        add_row(found->second, r, report);
    }
    for (auto& [head, cell] : cells_) report.map.push_back(cell);
    report.outcome.max_sigma = largest_sigma_;
    report.largest_abs.share =
        explain(*a_.measurement.geometry, inputs_, a_.spec, row_of(report.largest_abs.element),
                report.largest_abs.element.column)
            .share;
    report.softmax =
        softmax_amplification(*a_.measurement.geometry, inputs_, a_.spec, differences_);
  }

 private:
  static std::tuple<std::int32_t, std::int32_t, std::int64_t> key(const MeasuredSide& side,
                                                                  const RowId& id) {
    return {id.sample, id.head, id.row - side.measurement.geometry->length_q(id.sample)};
  }
  static RowId row_of(const ElementId& element) {
    return {static_cast<std::int32_t>(element.sample), static_cast<std::int32_t>(element.head),
            static_cast<std::int32_t>(element.row)};
  }

  DiffElement element(std::size_t ra, std::size_t rb, std::size_t column) const {
    const Reference &reference_a = *a_.measurement.reference,
                    &reference_b = *b_.measurement.reference;
    const auto columns = static_cast<std::size_t>(reference_a.columns);
    const std::size_t ia = ra * columns + column, ib = rb * columns + column;
    const RowId& id = reference_a.selection.rows[ra];
    DiffElement e;
    e.element = {id.sample, id.head, id.row, static_cast<std::int64_t>(column)};
    e.a = a_.measurement.rows[ia];
    e.b = b_.measurement.rows[ib];
    e.expected = reference_a.o[ia];
    e.sigma_a = reference_a.sigma[ia];
    e.sigma_b = reference_b.sigma[ib];
    e.sigma = std::hypot(e.sigma_a, e.sigma_b);
    e.ulp = ulp(e.expected, a_.measurement.geometry->problem().out());
    return e;
  }

  void add_row(std::size_t ra, std::size_t rb, DiffReport& report) {
    const Reference &reference_a = *a_.measurement.reference,
                    &reference_b = *b_.measurement.reference;
    const auto columns = static_cast<std::size_t>(reference_a.columns);
    const RowId& id = reference_a.selection.rows[ra];
    DiffCell& cell = cells_.try_emplace({id.sample, id.head}, DiffCell{id.sample, id.head, 0, true})
                         .first->second;
    double squares = 0, output = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const DiffElement e = element(ra, rb, j);
      const double difference = std::abs(e.a - e.b);
      // a's fp64 result minus b's: 0 unless a spec rounds the pre-scaled Q or the inputs
      const double declared = e.expected - reference_b.o[rb * columns + j];
      const double sigmas = std::abs(e.a - e.b - declared) / e.sigma;
      if (exceeds(difference, largest_abs_)) largest_abs_ = difference, report.largest_abs = e;
      if (difference != 0 && exceeds(difference / std::abs(e.b), largest_rel_)) {
        largest_rel_ = difference / std::abs(e.b);
        report.largest_rel = e;
      }
      if (exceeds(sigmas, largest_sigma_)) largest_sigma_ = sigmas, report.largest_sigma = e;
      if (exceeds(sigmas, cell.max_sigma)) cell.max_sigma = sigmas;
      if (e.a != e.b) cell.bit_equal = false;
      squares += difference * difference;
      output += e.expected * e.expected;
    }
    if (output > 0) differences_.push_back({id, std::sqrt(squares / output)});
  }

  const MeasuredSide& a_;
  const MeasuredSide& b_;
  const InputView& inputs_;
  std::map<std::pair<std::int32_t, std::int32_t>, DiffCell> cells_;
  std::vector<RowDifference> differences_;
  // Below every difference, so that the first element counts.
  double largest_abs_ = -1, largest_rel_ = -1, largest_sigma_ = -1;
};

// Returns "0.125 is 1 bf16 ulp of 16.3".
std::string in_ulps(const DiffElement& e, DType dtype) {
  const double difference = std::abs(e.a - e.b);
  return fmt::format("{:.4g} is {:.3g} {} ulp of {:.4g}", difference, difference / e.ulp,
                     name(dtype), e.expected);
}

Rounding largest_share(const DiffElement& e) {
  return static_cast<Rounding>(std::ranges::max_element(e.share) - e.share.begin());
}

std::string rounding_sentence(const DiffReport& report) {
  if (report.outcome.bit_equal_share >= 1) {
    const bool all = std::ranges::none_of(
        report.not_judged, [](const NotJudged& some) { return some.what == "rows"; });
    return fmt::format(
        "a and b are equal in every element{}, and both keep their limits against "
        "fp64",
        all ? "" : " that was compared");
  }
  const DiffElement& e = report.largest_abs;
  const Rounding main = largest_share(e);
  std::string text = fmt::format(
      "{}: at this element \"a\" is {:.2g} and \"b\" {:.2g} standard deviations from fp64 (largest "
      "term: {}, {:.0f} % of sigma^2); they differ nowhere by more than {:.3g} standard deviations "
      "of the difference (limit {:.3g})",
      in_ulps(e, report.a.out_dtype), std::abs(e.a - e.expected) / e.sigma_a,
      std::abs(e.b - e.expected) / e.sigma_b, name(main),
      100 * e.share[static_cast<std::size_t>(main)], report.outcome.max_sigma, report.limit);
  if (report.softmax.significant && report.softmax.correlation > 0) {
    text += fmt::format(
        "; rows in which the softmax amplifies errors more also differ more (kappa up to {:.3g})",
        report.softmax.largest);
  }
  return text;
}

// Returns what is wrong with a side, in one clause.
std::string fault_of(const DiffSide& side) {
  std::string text;
  if (side.outcome.status != Status::ok) {
    text = fmt::format("{}{}{}", name(side.outcome.status), side.outcome.reason.empty() ? "" : ": ",
                       side.outcome.reason);
  } else if (side.answer == Answer::bug && !side.outcome.cause.empty()) {
    return side.outcome.cause;
  } else if (!side.judgement.findings.empty()) {
    text = side.judgement.findings.front().text;
  } else if (!side.why.empty()) {
    return side.why;
  } else {
    text = "it does not keep its limits against fp64";
  }
  if (!side.outcome.location.description.empty())
    text += fmt::format(" ({})", side.outcome.location.description);
  return text;
}

std::string keeps_limits(const DiffSide& side) {
  return fmt::format("keeps its limits against fp64 ({:.0f} % of the limit of {})",
                     side.judgement.percent_of_limit, side.judgement.nearest_statistic);
}

std::string bug_sentence(const DiffReport& report) {
  const bool a = report.a.answer == Answer::bug, b = report.b.answer == Answer::bug;
  if (a && b)
    return fmt::format("both are wrong. a: {}. b: {}", fault_of(report.a), fault_of(report.b));
  const DiffSide &wrong = a ? report.a : report.b, &other = a ? report.b : report.a;
  return fmt::format("{} ({}) is wrong: {}; {} {}", a ? "a" : "b", wrong.label, fault_of(wrong),
                     a ? "b" : "a",
                     other.answer == Answer::rounding ? keeps_limits(other)
                                                      : "could not be decided: " + fault_of(other));
}

std::string undecided_sentence(const DiffReport& report) {
  for (const auto& [letter, side] : {std::pair{"a", &report.a}, std::pair{"b", &report.b}}) {
    if (side->answer != Answer::undecided) continue;
    return fmt::format("nothing can be concluded from {} ({}): {}", letter, side->label,
                       fault_of(*side));
  }
  if (report.outcome.status != Status::ok) return report.outcome.reason;
  const DiffElement& e = report.largest_sigma;
  return fmt::format(
      "both keep their limits against fp64, but their values {:.6g} and {:.6g} differ by {:.3g} "
      "standard deviations of the difference (limit {:.3g}). Their errors have opposite signs "
      "there ({:.2g} and {:.2g} sigma); run `plumbline check` on both",
      e.a, e.b, report.outcome.max_sigma, report.limit, (e.a - e.expected) / e.sigma_a,
      (e.b - e.expected) / e.sigma_b);
}

DiffSide summary(const MeasuredSide& side) {
  const Outcome& outcome = side.measurement.outcome;
  return {side.label,  side.spec_name, outcome.c.problem.out(), outcome, side.judgement,
          side.answer, side.why,       side.unused_tensors};
}

double peak_limit(const MeasuredSide& side, std::int64_t elements) {
  return default_limits(side.spec, side.measurement.geometry->problem(), elements).peak;
}

PlannedDiff planned(const std::string& name, const MeasuredSide& a, const MeasuredSide& b) {
  PlannedDiff diff;
  diff.suite = "diff";
  diff.name = name;
  diff.a.case_id = a.measurement.outcome.case_id;
  diff.b.case_id = b.measurement.outcome.case_id;
  return diff;
}

Answer decide(const DiffReport& report) {
  if (report.a.answer == Answer::bug || report.b.answer == Answer::bug) return Answer::bug;
  const bool both_keep_limits =
      report.a.answer == Answer::rounding && report.b.answer == Answer::rounding;
  const bool compared = report.outcome.status == Status::ok && report.outcome.elements > 0;
  return both_keep_limits && compared && within(report.outcome.max_sigma, report.limit)
             ? Answer::rounding
             : Answer::undecided;
}

}  // namespace

Answer answer_of(const Outcome& outcome, const Judgement& judgement) {
  if (outcome.status == Status::crashed) return Answer::bug;
  if (outcome.status != Status::ok) return Answer::undecided;
  if (outcome.faults.total() > 0 || !within(judgement.percent_of_limit, 100)) return Answer::bug;
  return is_failure(judgement.verdict) ? Answer::undecided : Answer::rounding;
}

DiffReport diff_measured(const std::string& name, const MeasuredSide& a, const MeasuredSide& b,
                         const InputView& inputs) {
  DiffReport report;
  report.name = name;
  report.a = summary(a);
  report.b = summary(b);
  report.not_judged = a.not_judged;
  report.not_judged.insert(report.not_judged.end(), b.not_judged.begin(), b.not_judged.end());
  report.outcome = compare_measurements(planned(name, a, b), a.measurement, b.measurement);
  if (report.outcome.status == Status::ok) {
    report.limit =
        std::max(peak_limit(a, report.outcome.elements), peak_limit(b, report.outcome.elements));
    report.rows_total = std::min(a.measurement.reference->selection.rows_total,
                                 b.measurement.reference->selection.rows_total);
    Elements(a, b, inputs).add_to(report);
  }
  report.answer = decide(report);
  report.sentence = report.answer == Answer::rounding ? rounding_sentence(report)
                    : report.answer == Answer::bug    ? bug_sentence(report)
                                                      : undecided_sentence(report);
  return report;
}

}  // namespace plumbline
