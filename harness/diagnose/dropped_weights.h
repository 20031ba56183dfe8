// Recognises dropout. Text for reports; no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "each weight is dropped or multiplied by one number, and the LSE is right: dropout" if
// the errors look so; otherwise "". Needs rows that have fewer keys than twice their columns.
//
// Dropout multiplies each weight by m_k, which is 0 with probability r and 1 / (1 - r) otherwise.
// The mean of m is 1 and its variance c^2 = r / (1 - r), so the squared error of column j has the
// mean c^2 sum_k p_k^2 v_kj^2. Other errors, such as those of a P in 4 bits, may have such a mean.
// So m_k = 0 or 1 / (1 - r) has to explain each of some rows. The search for these m_k first lets
// them be any number in between, which gives the right ones if there are enough columns.
std::string dropped_weights(const FailingOutput& failing);

}  // namespace plumbline
