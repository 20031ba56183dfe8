// CUDA's runtime API without warnings from its headers.
#pragma once

#pragma GCC system_header
#include <cuda_runtime_api.h>
