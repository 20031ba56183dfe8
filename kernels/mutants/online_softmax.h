// The generic kernel of the mutants: tiled attention with one planted change at a time. The softmax
// is online, and KV splits are merged by LSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/provider/plumbline_provider.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

// What the products take: P in the dtype of Q (fp32: not rounded); Q, K, V and P rounded to tf32
// (fp32 inputs); P in e4m3, times 256 (16-bit inputs).
enum class Mode { input, tf32, e4m3 };

std::uint64_t workspace_bytes(const plumbline_problem& problem, Change change);
// `splits_asked`: KV splits that the caller wants; 0 = the kernel chooses. Only varies_split asks.
void run(const plumbline_problem& problem, const plumbline_tensors& tensors, Mode mode,
         Change change, int splits_asked);

// What P is rounded to, and the power of two that it is multiplied by first.
std::uint32_t p_dtype(const plumbline_problem& problem, Mode mode, Change change);
double p_prescale(Mode mode, Change change);
// of both products
plumbline_accumulator accumulator(const plumbline_problem& problem, Mode mode, Change change);

}  // namespace plumbline::mutants
