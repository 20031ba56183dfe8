// Checks and describes a device through the CUDA runtime.
#include "kernels/attention/device_cuda.h"

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::attention {

std::string in_words(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return "";
  return what + ": " + cudaGetErrorName(error) + " (" + std::to_string(error) +
         "): " + cudaGetErrorString(error);
}

std::string refuse_non_gpu(const plumbline_device& device, const std::string& kernels) {
  if (std::string why = provider::refuse_other_devices(device, PLUMBLINE_CUDA, kernels);
      !why.empty())
    return why;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    throw provider::Refused(PLUMBLINE_NO_DEVICE, in_words(error, "no usable CUDA device"));
  }
  if (device.ordinal < 0 || device.ordinal >= count) {
    throw provider::Refused(PLUMBLINE_NO_DEVICE, "there is no CUDA device " +
                                                     std::to_string(device.ordinal) +
                                                     ": this machine has " + std::to_string(count));
  }
  return "";
}

int attribute(const plumbline_device& device, cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device.ordinal) == cudaSuccess ? value : 0;
}
int compute_capability(const plumbline_device& device) {
  return 10 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
         attribute(device, cudaDevAttrComputeCapabilityMinor);
}

}  // namespace plumbline::attention
