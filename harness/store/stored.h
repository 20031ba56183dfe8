// Stored results of a run: outcomes of cases, diffs and invariances with their judgements.
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
