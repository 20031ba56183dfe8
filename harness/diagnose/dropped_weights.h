// Recognises dropout. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "each weight has an error of its own, and the LSE is right: dropout"; "" if the errors do
// not look so. Few rows do not tell its probability.
//
// Dropout multiplies each weight by m_k, which is 0 with probability r and 1 / (1 - r) otherwise.
// The mean of m is 1 and its variance c^2 = r / (1 - r), so the squared error of column j has the
// mean c^2 sum_k p_k^2 v_kj^2.
std::string dropped_weights(const FailingOutput& failing);

}  // namespace plumbline
