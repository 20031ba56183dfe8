// Detects hidden keys that a kernel counts with one logit. Text for reports; no verdict depends on
// it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "the softmax denominator is too large: it counts hidden keys with a logit of -3, as if
// the softcap were applied after the mask" if this explains some rows; otherwise "". Tries the
// logits 0 and -softcap, and 0 for keys that count in the denominator alone. The keys are all
// hidden ones, or those of the tiles that a row sees, in several sizes.
std::string counted_hidden_keys(const FailingOutput& failing);

}  // namespace plumbline
