// Checks if a failing output would be right for another mask, window, scale or softcap. Text for
// reports; no verdict depends on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns everything of a geometry except the problem, to build it again for another problem.
// This includes the keys that each row sees only if `keys_stated`, and always the empty parts of a
// merge.
StatedLayout layout_of(const Geometry& geometry, bool keys_stated);

// Returns true if these rows of an output would be within `limits` for the problem of `geometry`.
// Faults are not checked.
bool would_explain(const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
                   const RoundingSpec& spec, const RowSelection& rows, const Limits& limits);
// Returns few informative_rows() of `failing`, which reject most explanations at a low cost.
RowSelection first_look(const FailingOutput& failing);
// Returns limits for first_look(): a wider rms, because columns share P's errors.
Limits limits_of_first_look(Limits limits);
// Returns rows of `failing` for a second look, which cost about 5e7 multiply-adds at most.
RowSelection second_look(const FailingOutput& failing);

// Sentences about alternative problems.
struct ExplainedByAlternatives {
  // Alternatives that explain the output, the simplest first: "would be explained if the mask were
  // causal"
  std::vector<std::string> all;
  // The first one that explains all wrong rows, if the error is located in rows: "rows 16 to 31 of
  // 48 are wrong, the others right: would be explained without the causal mask"; otherwise ""
  std::string wrong_rows;
};
// Tries alternative problems until `enough` returns true for the number of sentences in `all`, or
// failing.late() returns true.
ExplainedByAlternatives explain_by_alternatives(
    const FailingOutput& failing, const std::function<bool(std::size_t found)>& enough);

// Returns "the softmax scale is 0.1 % too large" if a fitted factor of the scale explains the
// output and exceeds the limit of test_scale(); otherwise "". If only the LSE fails, the output
// must also show at least half of the change.
std::string other_scale(const FailingOutput& failing);

}  // namespace plumbline
