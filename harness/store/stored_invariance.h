// A stored invariance: its outcome and judgement.
#pragma once

#include "harness/judge/judgement.h"
#include "harness/outcome/invariance_outcome.h"

namespace plumbline {

struct StoredInvariance {
  InvarianceOutcome outcome;
  Judgement judgement;
};

}  // namespace plumbline
