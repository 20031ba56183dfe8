// The scales of fp8 tensors that a dump states, and what they imply for its problem.
#pragma once

#include <optional>

#include "harness/check/tensor_set.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// Reads q_scale if Q is fp8, k_scale and v_scale if K and V are: F32 of one element, [heads],
// [batch, heads] or [batch, heads, blocks]. Extents of 1 are repeated, and q_scale may have one
// entry for each key head. Reads out_scale, F32 of one element, if the output is fp8.
// `scale_block`: the stated number of tokens in a block. If there are several blocks, the default
// is one token. Sets the problem's kv_scales and scale_block. If a scale is missing or does not
// fit, adds an error and returns nullopt.
std::optional<SideInputs> read_scales(Problem& problem, std::optional<std::int64_t> scale_block,
                                      TensorSet& tensors);

}  // namespace plumbline
