// The lengths and pages of a dump's samples, from its index tensors.
#pragma once

#include <optional>

#include "harness/check/mask_tensor.h"
#include "harness/check/shapes.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Reads cu_seqlens, cu_seqlens_q, cu_seqlens_kv, seqlens_q, seqlens_kv and page_table. The default
// is the full length (padded), or one query a sample (paged). `implied`: key lengths by a mask of
// key padding. If seq_q equals seq_kv, they are also the query lengths. If the lengths do not fit
// each other or the sizes, adds errors and returns nullopt.
std::optional<StatedLayout> stated_lengths(const Problem& problem, const DumpSizes& sizes,
                                           TensorSet& tensors,
                                           const std::optional<ImpliedLengths>& implied);

}  // namespace plumbline
