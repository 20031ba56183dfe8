// Would a failing output be right for another mask, window, scale or softcap? Words for people;
// nothing here decides.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Everything of a geometry but the problem, to state it again for another problem. `keys_stated`:
// also which keys each row sees.
StatedLayout layout_of(const Geometry& geometry, bool keys_stated);

// Whether the rows of an output would be within `limits`, had the question been that of `geometry`.
// Faults are not looked at.
bool would_explain(const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
                   const RoundingSpec& spec, const RowSelection& rows, const Limits& limits);
// Rows of `failing` for a first look: telling_rows() as a selection.
RowSelection look_at(const FailingOutput& failing, std::size_t worst, double cost_limit);
// Rows of `failing` for a second look, of at most about 5e7 multiply-adds.
RowSelection second_look(const FailingOutput& failing);

// A sentence for each other question that explains the output: "would be explained if the mask were
// causal"; the likeliest first. Ends early where `enough` says so after a sentence was found or a
// question was tried.
std::vector<std::string> other_questions(const FailingOutput& failing,
                                         const std::function<bool(std::size_t found)>& enough);

// "the softmax scale is 0.1 % too large" where a factor of the scale, found by fitting it, explains
// the output; else "".
std::string other_scale(const FailingOutput& failing);

}  // namespace plumbline
