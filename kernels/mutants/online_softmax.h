// The kernel that all mutants share: tiled attention with one planted change at a time. The softmax
// is online, and KV splits are merged by LSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/provider/plumbline_provider.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

std::uint64_t workspace_bytes(const plumbline_problem& problem);
// `requested_splits`: number of KV splits that the caller requests, only for varies_split; 0 = the
// kernel chooses.
void run(const plumbline_problem& problem, const plumbline_tensors& tensors, Mode mode,
         Change change, int requested_splits);

}  // namespace plumbline::mutants
