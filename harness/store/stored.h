// What a run holds of each case, diff and invariance: the outcome and what was concluded of it.
#pragma once

#include "harness/judge/judgement.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/outcome/outcome.h"
#include "harness/store/stored_invariance.h"

namespace plumbline {

struct StoredOutcome {
  Outcome outcome;
  Judgement judgement;
};
struct StoredDiff {
  DiffOutcome outcome;
  Judgement judgement;
};

}  // namespace plumbline
