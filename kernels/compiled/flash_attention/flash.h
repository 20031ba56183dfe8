// FlashAttention-2's own declarations, without warnings.
#pragma once

#pragma GCC system_header
#include <cuda_runtime_api.h>
#include <cutlass/numeric_types.h>
#include <flash.h>
#include <namespace_config.h>
