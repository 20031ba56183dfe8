// One rounding spec tried on one dump: reference, statistics, faults and judgement.
#pragma once

#include <map>
#include <optional>

#include "harness/check/check.h"
#include "harness/compare/faults.h"
#include "harness/compare/statistics.h"

namespace plumbline {

struct Outcome;

// A trial with what it was made from.
struct Examination {
  RungTrial trial;
  Reference reference;
  Comparison comparison;
};

// The dump is not owned and outlives the examiner.
class Examiner {
 public:
  Examiner(const Dump& dump, const CheckOptions& options);

  // An error where the reference is not finite.
  Result<Examination> examine(const Rung& rung) const;
  // Fills in where a failing output's error sits, and by how much its spec widens sigma compared
  // with `strict_rms`, and judges again.
  void explain_failure(Examination& examination, double strict_rms) const;
  // The worst elements, from different (sample, head, row); NaN first.
  std::vector<WorstElement> worst_elements(const Examination& examination, std::size_t count) const;

 private:
  Faults faults(const RoundingSpec& spec, const Reference& reference) const;
  void judge_trial(RungTrial& trial) const;

  const Dump& dump_;
  RowSelection rows_;
  std::map<DType, ValueRange> ranges_;  // by what V is rounded to
};

// The trial as an outcome that can be judged.
Outcome outcome_of(const Dump& dump, const RungTrial& trial);

// Everything of a dump's geometry but the problem, to state it again for another problem.
StatedLayout layout_of(const Dump& dump);

// Whether an output that kept `problem` and `layout` would be explained by rounding: fewer rows, no
// faults. For a second look only.
bool would_explain(const Dump& dump, const Problem& problem, StatedLayout layout,
                   const RoundingSpec& spec);

}  // namespace plumbline
