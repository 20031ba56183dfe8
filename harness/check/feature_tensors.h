// ALiBi slopes and attention sinks that a dump states.
#pragma once

#include "harness/check/tensor_set.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// alibi_slopes [heads] or [batch, heads], sinks [heads] in natural units: finite, F32 or 16-bit
// floats, which are widened. What is there is added to `side`, and to the problem that it is there.
// False with an error added where a tensor cannot be read so.
bool read_features(Problem& problem, SideInputs& side, TensorSet& tensors);

}  // namespace plumbline
