// The ALiBi slopes and attention sinks that a dump states.
#pragma once

#include "harness/check/tensor_set.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// Reads alibi_slopes [heads] or [batch, heads] and sinks [heads] in natural units: finite, F32 or
// 16-bit floats, which are widened. Adds them to `side` and sets the problem's fields for them. If
// a tensor does not fit, adds an error and returns false.
bool read_features(Problem& problem, SideInputs& side, TensorSet& tensors);

}  // namespace plumbline
