// A GPU as the machine, through the CUDA runtime.
#include "kernels/attention/device_cuda.h"
#include "kernels/attention/machine.h"
#include "kernels/attention/memory_cuda.h"

namespace plumbline::attention {
namespace {

class DeviceIndices : public Indices {
 public:
  DeviceIndices() = default;
  ~DeviceIndices() override { cudaFree(data_); }
  DeviceIndices(const DeviceIndices&) = delete;
  DeviceIndices& operator=(const DeviceIndices&) = delete;

  cudaError_t copy(const std::vector<std::int32_t>& values) {
    const std::size_t bytes = values.size() * sizeof(std::int32_t);
    if (const cudaError_t error = cudaMalloc(&data_, bytes); error != cudaSuccess) return error;
    return copy_and_wait(data_, values.data(), bytes, cudaMemcpyHostToDevice);
  }
  const std::int32_t* data() const override { return static_cast<const std::int32_t*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace

const char* provider_name() { return "cuda"; }
const char* build_id() { return PLUMBLINE_ATTENTION_BUILD_ID; }
const plumbline_device_memory* device_memory() { return cuda_memory(); }

std::string refuse_device(const plumbline_device& device) {
  if (std::string why = refuse_non_gpu(device, "the cuda kernels"); !why.empty()) return why;
  if (std::string why = in_words(cudaSetDevice(device.ordinal), "cudaSetDevice"); !why.empty())
    throw provider::Refused(PLUMBLINE_NO_DEVICE, why);
  return "";
}

int arch_number(const plumbline_device& device) { return compute_capability(device); }
std::string arch_of(const plumbline_device& device) {
  return "sm_" + std::to_string(arch_number(device));
}
std::int64_t max_block_shared_bytes(const plumbline_device& device) {
  return attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

std::unique_ptr<Indices> copy_indices(const plumbline_device&, std::vector<std::int32_t> values) {
  auto indices = std::make_unique<DeviceIndices>();
  const cudaError_t error = indices->copy(values);
  if (error == cudaSuccess) return indices;
  throw provider::Refused(
      error == cudaErrorMemoryAllocation ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_ERROR,
      in_words(error, "index arrays"));
}

Attributes attributes_of(const Instance& instance) {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(instance.function)) !=
      cudaSuccess)
    return {};
  return {attributes.numRegs, static_cast<std::int64_t>(attributes.sharedSizeBytes),
          static_cast<std::int64_t>(attributes.localSizeBytes)};
}

std::string launch(const plumbline_device&, const Options&, const Instance& instance,
                   const Grid& grid, int shared_bytes, const Parameters& parameters, void* stream) {
  const void* function = reinterpret_cast<const void*>(instance.function);
  if (const auto error =
          cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
      error != cudaSuccess) {
    return in_words(error, "requesting shared memory");
  }
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  return in_words(
      cudaLaunchKernel(function, dim3(grid.x, grid.y, grid.z),
                       dim3(static_cast<unsigned>(instance.threads)), arguments,
                       static_cast<std::size_t>(shared_bytes), static_cast<cudaStream_t>(stream)),
      "launch");
}

}  // namespace plumbline::attention
