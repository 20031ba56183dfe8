// Replaces PyTorch's header of this name: an error stays in cudaGetLastError.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

#define C10_CUDA_CHECK(...) static_cast<void>(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() static_cast<void>(cudaPeekAtLastError())
