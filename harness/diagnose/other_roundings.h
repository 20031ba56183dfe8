// Checks if an output's error comes from a rounding that its spec lacks, or from K or V read at a
// wrong address. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

struct RankedChange {
  std::string sentence;
  bool is_rung = false;  // a looser rounding model of kernels in use (ladder.h)
};
// Returns the likeliest cause if it explains the output and beats every cause of another kind;
// otherwise no sentence. Examples: "S is rounded to bf16 after the softmax scale"; "each key's
// weight is multiplied by V of the next key"; "a wrong page is read: K of page 2 of sample 0 from
// page 5 of sample 1"; "would be explained if S were rounded to bf16, as MLX and eager do".
RankedChange rank_changes(const FailingOutput& failing);
// Returns the sentence of rank_changes(), "" for a rounding model.
std::string likeliest_change(const FailingOutput& failing);

}  // namespace plumbline
