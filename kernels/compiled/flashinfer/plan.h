// The planner's memory, for prefill.h and decode.h.
#pragma once

#include <cuda_runtime_api.h>
#include <flashinfer/allocator.h>

#include <string>

#include "kernels/compiled/flashinfer/launch.h"

namespace plumbline::flashinfer_kernels {

inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw provider::Refused(PLUMBLINE_ERROR, std::string(what) + ": " + cudaGetErrorString(error));
}

// Page-locked host memory, from which the planner copies its index arrays.
class HostIndices {
 public:
  explicit HostIndices(std::size_t bytes) {
    require(cudaMallocHost(&data_, bytes), "page-locked memory for FlashInfer's planner");
  }
  ~HostIndices() { cudaFreeHost(data_); }
  HostIndices(const HostIndices&) = delete;
  HostIndices& operator=(const HostIndices&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Returns the stream on which the planner copies its index arrays.
inline cudaStream_t stream_of(const plumbline_tensors& tensors) {
  return static_cast<cudaStream_t>(provider::planning_stream(tensors));
}

// Plans into memory of the sizes that the planner requires. `plan_function(floats, float_bytes,
// indices, host, index_bytes)` is FlashInfer's. The floats do not exist yet: the planner keeps only
// offsets into them.
template <class PlanFunction>
void plan_into(const plumbline_tensors& tensors, Planned& plan, std::size_t float_bytes,
               std::size_t index_bytes, PlanFunction plan_function) {
  plan.float_bytes = float_bytes;
  constexpr std::size_t word = sizeof(std::int32_t);
  plan.indices = std::make_unique<compiled::DeviceArray>(tensors, (index_bytes + word - 1) / word);
  const HostIndices host(index_bytes + 1);
  constexpr std::uintptr_t some_aligned_address = 4096;
  require(plan_function(reinterpret_cast<void*>(some_aligned_address), float_bytes,
                        plan.indices->data(), host.data(), index_bytes),
          "FlashInfer's planner");
  // before the page-locked memory is freed
  require(cudaStreamSynchronize(stream_of(tensors)), "FlashInfer's planner");
}

// Returns the address of an index array or of partial results.
template <class Value>
Value* at(void* base, std::int64_t offset) {
  return ::flashinfer::GetPtrFromBaseOffset<Value>(base, offset);
}

}  // namespace plumbline::flashinfer_kernels
