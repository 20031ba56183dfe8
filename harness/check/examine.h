// Tries one rounding spec on one dump: reference, statistics, faults and judgement.
#pragma once

#include <map>
#include <optional>

#include "harness/check/check.h"
#include "harness/compare/faults.h"
#include "harness/compare/statistics.h"

namespace plumbline {

struct Outcome;

// A trial with its reference and comparison.
struct Examination {
  RungTrial trial;
  Reference reference;
  Comparison comparison;
};

// The dump is not owned and must outlive the examiner.
class Examiner {
 public:
  Examiner(const Dump& dump, const CheckOptions& options);

  // Returns an error if the reference is not finite.
  Result<Examination> examine(const Rung& rung) const;
  // Adds the location of a failing output's error and how much its spec widens sigma compared with
  // `strict_rms`. Then judges the output again.
  void explain_failure(Examination& examination, double strict_rms) const;
  // Returns the worst elements, from different (sample, head, row); NaN first.
  std::vector<WorstElement> worst_elements(const Examination& examination, std::size_t count) const;

 private:
  Faults faults(const RoundingSpec& spec, const Reference& reference) const;
  void judge_trial(RungTrial& trial) const;

  const Dump& dump_;
  RowSelection rows_;
  // Ranges of V, computed when a spec first needs one.
  mutable std::map<InputRounding, ValueRange> ranges_;
};

// Returns the trial as an outcome that can be judged.
Outcome outcome_of(const Dump& dump, const RungTrial& trial);

// Returns everything of a dump's geometry except the problem, to build it again for another
// problem.
StatedLayout layout_of(const Dump& dump);

// Returns true if rounding would explain the output for `problem` and `layout`. Uses fewer rows and
// ignores faults, so it is for a second look only.
bool would_explain(const Dump& dump, const Problem& problem, StatedLayout layout,
                   const RoundingSpec& spec);

}  // namespace plumbline
