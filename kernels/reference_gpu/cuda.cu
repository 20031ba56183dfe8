// The library plumbline_reference_cuda.so: the reference on the first GPU.
#include <cuda_runtime.h>

#include "kernels/reference_gpu/library.h"
#include "kernels/reference_gpu/reference_kernel.cuh"

namespace plumbline::reference_gpu {
namespace {

void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class CudaMachine : public Machine {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void release(void* memory) override { static_cast<void>(cudaFree(memory)); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "upload");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "download");
  }
  void run_rows(unsigned blocks, const RowParameters& p) override {
    const auto shared_bytes = static_cast<std::size_t>(row_shared_bytes(p.dim_qk));
    reference_rows<<<blocks, block_threads, shared_bytes>>>(p);
    check_cuda(cudaGetLastError(), "launch of reference_rows");
    check_cuda(cudaDeviceSynchronize(), "reference_rows");
  }
  void run_units(unsigned blocks, const UnitParameters& p) override {
    group_units<<<blocks, block_threads, unit_shared_bytes>>>(p);
    check_cuda(cudaGetLastError(), "launch of group_units");
    check_cuda(cudaDeviceSynchronize(), "group_units");
  }
  unsigned blocks() override {
    int processors = 0, per_processor = 0;
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0),
               "multiprocessor count");
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, reference_rows,
                                                             block_threads, 1024),
               "occupancy");
    return static_cast<unsigned>(processors * (per_processor > 0 ? per_processor : 1));
  }
  std::size_t scratch_bytes() override {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "free memory");
    return free / 2;
  }
};

int32_t device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
const char* device_name() {
  static const std::string name = [] {
    cudaDeviceProp properties{};
    return std::string(cudaGetDeviceProperties(&properties, 0) == cudaSuccess ? properties.name
                                                                              : "none");
  }();
  return name.c_str();
}

}  // namespace
}  // namespace plumbline::reference_gpu

extern "C" __attribute__((visibility("default"))) const plumbline_reference_library*
plumbline_reference() {
  using namespace plumbline::reference_gpu;
  return library_of<CudaMachine>(device_count, device_name);
}
