// The scales of fp8 tensors that a dump states, and what they say of its problem.
#pragma once

#include <optional>

#include "harness/check/tensor_set.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// q_scale where Q is fp8, k_scale and v_scale where K and V are: F32 of one element, [heads],
// [batch, heads] or [batch, heads, blocks], where extents of 1 are repeated and q_scale may have a
// head for each of K's. `scale_block`: tokens of a block, as stated; needed where there are several
// blocks, but not one for each token. Sets the problem's kv_scales and scale_block; nullopt with an
// error added where a scale is missing or cannot be read so.
std::optional<SideInputs> read_scales(Problem& problem, std::optional<std::int64_t> scale_block,
                                      TensorSet& tensors);

}  // namespace plumbline
