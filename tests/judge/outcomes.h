// Outcomes to judge: one that passes, for tests to break in one place.
#pragma once

#include <string>

#include "harness/contract/contract.h"
#include "harness/contract/support.h"
#include "harness/judge/judge.h"
#include "harness/outcome/outcome.h"
#include "tests/judge/judgements.h"

namespace plumbline {

// Returns a bf16 case of a kernel without a contract, with about half of each limit.
inline Outcome passing() {
  Outcome outcome;
  outcome.suite = "smoke";
  outcome.c = {"mine/kernel", "cpu", small_problem()};
  outcome.status = Status::ok;
  outcome.description.build_id = "build-1";
  outcome.description.spec = strict_spec(outcome.c.problem);
  outcome.description.promises.run_to_run = Promise::bitwise;
  outcome.errors.elements = 10'000;
  outcome.errors.peak = 3.25;
  outcome.errors.beyond_output = 3;
  outcome.errors.rms = 0.6;
  outcome.errors.has_lse = outcome.errors.has_max_logit = true;
  outcome.errors.lse_z = 2;
  outcome.errors.has_elsewhere = true;
  outcome.errors.elsewhere = 6;
  outcome.reference_rows = outcome.rows_total = 16;
  outcome.spec_judged = spec_text(outcome.description.spec);
  outcome.output_digest = std::string(32, 'a');
  outcome.repeat_checked = outcome.repeat_equal = true;
  return outcome;
}

// Returns a baseline made from `outcome`.
inline Baseline past_of(const Outcome& outcome) {
  Baseline baseline;
  baseline.run_id = "last-night";
  baseline.verdict = "pass";
  baseline.output_digest = outcome.output_digest;
  baseline.build_id = outcome.description.build_id;
  baseline.rms = outcome.errors.rms;
  baseline.elements = outcome.errors.elements;
  baseline.deterministic = true;
  return baseline;
}

// Judges against the past of passing(), so that nothing is new.
inline Judgement judge_with_past(const Outcome& outcome, const Contracts* contracts = nullptr,
                                 const SupportTable* support = nullptr) {
  const Baseline baseline = past_of(passing());
  return judge(
      {.outcome = &outcome, .contracts = contracts, .support = support, .baseline = &baseline});
}

inline Judgement judge_against(const Outcome& outcome, const Baseline& baseline) {
  return judge({.outcome = &outcome, .baseline = &baseline});
}

}  // namespace plumbline
