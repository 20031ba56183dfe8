// A stored invariance: its outcome and judgement.
#pragma once

#include "harness/judge/judgement.h"
#include "harness/outcome/invariance_outcome.h"

namespace plumbline {

struct StoredInvariance {
  InvarianceOutcome outcome;
  Judgement judgement;

  // True if the calls were compared and differ in a way that only a promise would judge.
  bool is_not_judged() const {
    return outcome.status == Status::ok && judgement.verdict == Verdict::unsupported;
  }
};

}  // namespace plumbline
