// plumbline's memory table for the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

const plumbline_device_memory* cuda_memory();

// Returns after the copy has completed, so that every stream sees it.
cudaError_t copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

}  // namespace plumbline::attention
