// Queries of the GPU providers to the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// Returns "launch: cudaErrorInvalidValue (1): invalid argument", or "" on success.
std::string in_words(cudaError_t error, const std::string& what);

// Returns "" for an available GPU. For other devices, returns an error: `kernels` ("the cuda
// kernels") run only on CUDA devices. Throws provider::Refused with PLUMBLINE_NO_DEVICE if the GPU
// is missing.
std::string refuse_non_gpu(const plumbline_device& device, const std::string& kernels);

// Returns 0 if unknown.
int attribute(const plumbline_device& device, cudaDeviceAttr which);
// Returns 90 for sm_90.
int compute_capability(const plumbline_device& device);

}  // namespace plumbline::attention
