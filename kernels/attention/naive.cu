// The launcher of naive_kernel.cuh for fp32, fp16 and bf16 inputs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/attention/naive_kernel.cuh"

namespace plumbline::attention {
namespace {

using KernelFunction = void (*)(NaiveParameters);

KernelFunction kernel_for(std::uint32_t dtype_in) {
  switch (dtype_in) {
    case PLUMBLINE_F32:
      return naive_attention<float>;
    case PLUMBLINE_F16:
      return naive_attention<__half>;
    case PLUMBLINE_BF16:
      return naive_attention<__nv_bfloat16>;
    default:
      return nullptr;
  }
}

}  // namespace

std::int64_t naive_shared_bytes(const NaiveParameters& parameters) {
  return static_cast<std::int64_t>(sizeof(float)) * (parameters.head_dim_qk + parameters.head_dim_vo + naive_threads);
}

cudaError_t launch_naive(const NaiveParameters& parameters, cudaStream_t stream) {
  const KernelFunction kernel = kernel_for(parameters.dtype_in);
  if (kernel == nullptr) return cudaErrorInvalidValue;
  if (parameters.rows == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(parameters.rows), static_cast<unsigned>(parameters.heads_q));
  kernel<<<grid, naive_threads, static_cast<std::size_t>(naive_shared_bytes(parameters)), stream>>>(parameters);
  return cudaGetLastError();
}

cudaError_t naive_attributes(std::uint32_t dtype_in, cudaFuncAttributes* attributes) {
  const KernelFunction kernel = kernel_for(dtype_in);
  if (kernel == nullptr) return cudaErrorInvalidValue;
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

}  // namespace plumbline::attention
