// Judges if the declared roundings of two cases explain their difference, or if their bits are
// equal.
#include <fmt/format.h>

#include "harness/judge/judge.h"
#include "harness/judge/judgement_builder.h"
#include "harness/outcome/diff_outcome.h"

namespace plumbline {
namespace {

std::string largest_relative(const DiffOutcome& diff) {
  std::string text = fmt::format("the largest relative difference is {:.4g}", diff.max_rel);
  if (diff.rms_output > 0) {
    text += fmt::format(", where |expected| is {:.2g} of the output's rms",
                        diff.max_rel_expected / diff.rms_output);
  }
  return text;
}

void judge_rounding(const DiffOutcome& diff, JudgementBuilder& builder) {
  const double limit = grown_limit(Limits{}.peak, diff.elements);
  if (builder.measure("difference", diff.max_sigma, limit)) {
    builder.note(diff.max_abs == 0
                     ? "the two are equal in every element"
                     : fmt::format("rounding: the declared roundings explain the difference: at "
                                   "most {:.3g} of its standard deviations (limit {:.3g}); {}",
                                   diff.max_sigma, limit, largest_relative(diff)));
  } else {
    builder.find(
        Verdict::fail,
        {FindingKind::difference, diff.max_sigma, limit,
         fmt::format("the declared roundings do not explain the difference: {:.4g} of its standard "
                     "deviations, {:.3g} are "
                     "legal; the largest difference is {:.4g} at {}",
                     diff.max_sigma, limit, diff.max_abs, at(diff.max_abs_element))});
  }
}

void judge_bitwise(const DiffOutcome& diff, JudgementBuilder& builder) {
  // Equal bits may be those of a NaN, which fails: max_abs is then NaN.
  const bool all_equal =
      diff.bit_equal_share >= 1 && diff.heads_bit_equal == diff.heads && within(diff.max_abs, 0);
  if (all_equal) return;
  builder.find(Verdict::fail, {FindingKind::bitwise, diff.bit_equal_share, 1,
                               fmt::format("{:.6g} % of the elements have the same bits, and {} of "
                                           "{} heads are entirely equal; the largest difference is "
                                           "{:.4g} ({:.3g} standard deviations)",
                                           100 * diff.bit_equal_share, diff.heads_bit_equal,
                                           diff.heads, diff.max_abs, diff.max_sigma)});
}

}  // namespace

Judgement judge_diff(const DiffOutcome& diff) {
  JudgementBuilder builder;
  if (diff.status == Status::unsupported) {
    builder.at_least(Verdict::unsupported);
    builder.note(fmt::format("unsupported: {}", diff.reason));
  } else if (diff.status != Status::ok) {
    builder.find(verdict_of(diff.status), {FindingKind::status, 0, 0,
                                           diff.reason.empty() ? "without a reason" : diff.reason});
  } else if (diff.expect == "report") {
    builder.note(fmt::format("reported, not judged: largest difference {:.4g}, mean {:.4g}; {}",
                             diff.max_abs, diff.mean_abs, largest_relative(diff)));
  } else if (diff.elements <= 0) {
    builder.find(
        Verdict::mistrusted,
        {FindingKind::elements, 0, 0, "nothing was compared: the two cases have no row in common"});
  } else if (diff.expect == "rounding") {
    judge_rounding(diff, builder);
  } else if (diff.expect == "bitwise") {
    judge_bitwise(diff, builder);
  } else {
    builder.find(
        Verdict::mistrusted,
        {FindingKind::expect, 0, 0,
         fmt::format("expect = \"{}\" is not one of rounding, bitwise, report: nothing was judged",
                     diff.expect)});
  }
  return builder.finish();
}

}  // namespace plumbline
