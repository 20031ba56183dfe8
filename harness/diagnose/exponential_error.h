// Checks if an output's error comes from an inexact exponential. Text for reports; no verdict
// depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "the exponential has a relative error of up to 2e-04 …" if an error that depends only on
// the fraction of the base-2 exponent explains some rows, of which it was fitted to every other
// one; otherwise "".
std::string exponential_error(const FailingOutput& failing);

}  // namespace plumbline
