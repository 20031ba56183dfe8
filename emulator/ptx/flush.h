// Whether the processor's own mode for denormal numbers can do what .ftz asks of a kernel.
//
// In software each .ftz costs a comparison for every operand and for the result: half of the
// instructions of FlashAttention-2's softmax. Kernels that are compiled with --use_fast_math have
// .ftz on all of their arithmetic, and there x86's flush-to-zero and denormals-are-zero do the
// same, but for products between 2^-126 - 2^-150 and 2^-126 - 2^-151 in size. Those are denormal
// before they are rounded to a denormal's bits and 2^-126 thereafter: x86 makes them zero, software
// 2^-126. Nobody has published which of the two a GPU does.
#pragma once

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {

// Every instruction of the kernel that computes with floating-point numbers has .ftz, or does the
// same without; and there is one that has.
bool host_flushes(const Function& kernel);

}  // namespace plumbline::ptx
