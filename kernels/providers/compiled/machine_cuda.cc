// The machine that is a GPU: memory, launches and errors by NVIDIA's run-time library.
#include "kernels/attention/memory_cuda.h"
#include "kernels/providers/compiled/cuda.h"
#include "kernels/providers/compiled/machine.h"

namespace plumbline::compiled {
namespace {

// "launch: cudaErrorInvalidValue (1): invalid argument".
std::string in_words(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return "";
  return what + ": " + cudaGetErrorName(error) + " (" + std::to_string(error) +
         "): " + cudaGetErrorString(error);
}

int attribute(const plumbline_device& device, cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device.ordinal) == cudaSuccess ? value : 0;
}

bool has_options(const MachineOptions& options) {
  const MachineOptions none;
  return options.schedule != none.schedule || options.seed != none.seed || options.independent ||
         options.skipped_line != 0;
}

}  // namespace

std::string refuse_device(const plumbline_device& device) {
  const auto refuse = [](const std::string& why) {
    throw provider::Refused(PLUMBLINE_NO_DEVICE, why);
  };
  if (std::string why =
          provider::refuse_other_devices(device, PLUMBLINE_CUDA, "these compiled kernels");
      !why.empty())
    return why;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    refuse(in_words(error, "no usable CUDA device"));
  }
  if (device.ordinal < 0 || device.ordinal >= count) {
    refuse("there is no CUDA device " + std::to_string(device.ordinal) + ": this machine has " +
           std::to_string(count));
  }
  return "";
}

int arch_number(const plumbline_device& device) {
  return 10 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
         attribute(device, cudaDevAttrComputeCapabilityMinor);
}
std::string arch_name(const plumbline_device& device) {
  return "sm_" + std::to_string(arch_number(device));
}
const plumbline_device_memory* device_memory() { return attention::cuda_memory(); }
std::uint64_t features() { return 0; }

void make_current(const plumbline_device& device, const MachineOptions& options) {
  if (has_options(options))
    throw provider::Refused(PLUMBLINE_UNSUPPORTED,
                            "schedule, seed, lanes and skip are options of the emulator");
  if (const std::string wrong = in_words(cudaSetDevice(device.ordinal), "cudaSetDevice");
      !wrong.empty())
    throw provider::Refused(PLUMBLINE_ERROR, wrong);
}

Run::Run(const plumbline_device& device, const MachineOptions& options, const plumbline_tensors&) {
  make_current(device, options);
}
Run::~Run() = default;

void allow(const void*, std::uint64_t) {}
void take_back(const void*) {}

void throw_if_failed(const std::string& kernel) {
  if (const std::string wrong = in_words(cudaGetLastError(), kernel); !wrong.empty())
    throw provider::Refused(PLUMBLINE_ERROR, wrong);
}

}  // namespace plumbline::compiled
