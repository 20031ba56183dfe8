// The LSE of a dump, whichever of its dimensions comes first.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/check/tensor_set.h"
#include "harness/problem/problem.h"

namespace plumbline {

// Tensor lse as fp32 [batch, seq_q, heads] (padded; rows = seq_q) or [rows, heads] (rows =
// total_q). Stored with the heads first it is turned; where both orders fit, `heads_first` has to
// say which. nullopt with an error added where it fits neither.
std::optional<std::vector<std::byte>> read_lse(const Problem& problem, std::int64_t rows,
                                               std::optional<bool> heads_first, TensorSet& tensors);

}  // namespace plumbline
