// Judges if two calls for the same rows agree as well as the kernel promised.
#include <fmt/format.h>

#include <cmath>

#include "harness/judge/judge.h"
#include "harness/judge/judgement_builder.h"
#include "harness/outcome/invariance_outcome.h"

namespace plumbline {
namespace {

std::string where(const InvarianceOutcome& outcome) {
  const bool is_row_output = row_output_at(outcome.element.column).has_value();
  return fmt::format("{}{}", is_row_output ? "" : "the output at ", at(outcome.element));
}

std::string size(const InvarianceOutcome& outcome) {
  if (!std::isfinite(outcome.value_a) || !std::isfinite(outcome.value_b))
    return "no rounding explains it";
  return fmt::format("{:.4g} standard deviations (limit {:.3g}); {:.4g} ulp", outcome.sigmas,
                     outcome.limit, outcome.ulps);
}

std::string difference(const InvarianceOutcome& outcome) {
  return fmt::format(
      "{} is {:.9g} in the case and {:.9g} in \"{}\": {}; {} of {} elements have other bits",
      where(outcome), outcome.value_a, outcome.value_b, outcome.problem_b, size(outcome),
      outcome.other_bits, outcome.elements);
}

}  // namespace

std::string_view agreement(const InvarianceOutcome& outcome) {
  if (outcome.other_bits == 0) return "bitwise";
  return within(outcome.sigmas, outcome.limit) ? "rounding" : "beyond";
}

Judgement judge_invariance(const InvarianceOutcome& outcome) {
  JudgementBuilder builder;
  const std::string what(name(outcome.invariance));
  if (outcome.status == Status::unsupported) {
    builder.at_least(Verdict::unsupported);
    builder.note(fmt::format("{}: {}",
                             outcome.calls_refused > 0 ? "unsupported" : "nothing to transform",
                             outcome.reason));
    return builder.finish();
  }
  const FindingKind kind = finding_kind(name(outcome.invariance));
  if (outcome.status != Status::ok) {
    builder.find(verdict_of(outcome.status),
                 {kind, 0, 0, outcome.reason.empty() ? "without a reason" : outcome.reason});
    return builder.finish();
  }
  if (outcome.elements <= 0) {
    builder.find(Verdict::mistrusted,
                 {kind, 0, 0, "nothing was compared: the calls have no row in common"});
    return builder.finish();
  }
  // Many legal kernels multiply a hidden NaN by a weight of 0, so only a promise makes this a
  // fault.
  if (outcome.invariance == Invariance::hidden_keys && outcome.promise == Promise::none &&
      agreement(outcome) == "beyond") {
    builder.at_least(Verdict::unsupported);
    builder.note(fmt::format("not judged: no contract promises survives_hidden_nan: {}",
                             difference(outcome)));
    return builder.finish();
  }
  const bool legal =
      outcome.other_bits == 0 || builder.measure(what, outcome.sigmas, outcome.limit);
  if (!legal) {
    builder.find(Verdict::fail,
                 {kind, outcome.sigmas, outcome.limit,
                  fmt::format("{}: beyond rounding: {}", what, difference(outcome))});
  } else if (outcome.other_bits > 0 && outcome.promise == Promise::bitwise) {
    builder.find(Verdict::fail,
                 {kind, static_cast<double>(outcome.other_bits), 0,
                  fmt::format("{}: the same bits are promised: {}", what, difference(outcome))});
  } else if (outcome.other_bits > 0) {
    builder.note(fmt::format("{}: within rounding: {}", what, difference(outcome)));
  }
  if (outcome.calls_refused > 0)
    builder.note(fmt::format("{} of {} calls were refused: {}", outcome.calls_refused,
                             outcome.calls + outcome.calls_refused, outcome.reason));
  return builder.finish();
}

}  // namespace plumbline
