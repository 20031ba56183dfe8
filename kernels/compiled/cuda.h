// CUDA's run-time API without its warnings, which are not ours to mend.
#pragma once

#pragma GCC system_header
#include <cuda_runtime_api.h>
