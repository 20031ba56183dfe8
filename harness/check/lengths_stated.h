// The lengths of a dump's samples and where their pages lie, from its index tensors.
#pragma once

#include <optional>

#include "harness/check/mask_tensor.h"
#include "harness/check/shapes.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Reads cu_seqlens, cu_seqlens_q, cu_seqlens_kv, seqlens_q, seqlens_kv and page_table; what is not
// stated is the full length (padded), or one query a sample (paged). `implied` are the key lengths
// that a mask of key padding implies; where queries and keys are equally many they are those of the
// queries, too. nullopt with errors added where they do not fit each other or the sizes.
std::optional<StatedLayout> stated_lengths(const Problem& problem, const DumpSizes& sizes,
                                           TensorSet& tensors,
                                           const std::optional<ImpliedLengths>& implied);

}  // namespace plumbline
