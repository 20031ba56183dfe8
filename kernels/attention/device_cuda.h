// What the providers for GPUs ask of the CUDA runtime about a device.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// "launch: cudaErrorInvalidValue (1): invalid argument", or "".
std::string in_words(cudaError_t error, const std::string& what);

// "" on a GPU that is there; elsewhere that `kernels` ("the cuda kernels") run on CUDA devices
// only.
// Throws provider::Refused with PLUMBLINE_NO_DEVICE where the GPU is not there.
std::string refuse_other_than_gpus(const plumbline_device& device, const std::string& kernels);

// 0: unknown.
int attribute(const plumbline_device& device, cudaDeviceAttr which);
// 90 of sm_90
int compute_capability(const plumbline_device& device);

}  // namespace plumbline::attention
