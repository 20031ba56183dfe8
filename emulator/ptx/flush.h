// Decides if the processor's own flush mode can implement the .ftz of a kernel.
//
// In software each .ftz costs a comparison for every operand and result: half of the instructions
// of FlashAttention-2's softmax. Kernels compiled with --use_fast_math have .ftz on all of their
// arithmetic. For such kernels, x86's flush-to-zero and denormals-are-zero give the same bits as
// software, except for products between 2^-126 - 2^-150 and 2^-126 - 2^-151 in magnitude. These
// products are denormal before they are rounded and 2^-126 afterwards: x86 gives zero, software
// 2^-126. NVIDIA has not published which of the two a GPU gives.
#pragma once

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {

// Returns true if every floating-point instruction of the kernel has .ftz or computes the same bits
// with it, and at least one has it.
bool host_flushes(const Function& kernel);

}  // namespace plumbline::ptx
