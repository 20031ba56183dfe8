// What a run holds of an invariance: the outcome and what was concluded of it.
#pragma once

#include "harness/judge/judgement.h"
#include "harness/outcome/invariance_outcome.h"

namespace plumbline {

struct StoredInvariance {
  InvarianceOutcome outcome;
  Judgement judgement;
};

}  // namespace plumbline
