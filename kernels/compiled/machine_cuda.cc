// A GPU as the machine: memory, launches and errors through NVIDIA's runtime library.
#include "kernels/attention/device_cuda.h"
#include "kernels/attention/memory_cuda.h"
#include "kernels/compiled/cuda.h"
#include "kernels/compiled/machine.h"

namespace plumbline::compiled {

using attention::in_words;

namespace {

bool has_options(const MachineOptions& options) {
  const MachineOptions none;
  return options.schedule != none.schedule || options.seed != none.seed || options.independent ||
         options.skipped_line != 0;
}

}  // namespace

std::string refuse_device(const plumbline_device& device) {
  return attention::refuse_non_gpu(device, "these compiled kernels");
}

int arch_number(const plumbline_device& device) { return attention::compute_capability(device); }
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

Run::Run(const plumbline_device& device, const MachineOptions& options, const plumbline_tensors&,
         Launched& launched)
    : record_(launched) {
  make_current(device, options);
}
Run::~Run() = default;

void allow(const void*, std::uint64_t) {}
void disallow(const void*) {}

void describe_threads(plumbline_description& description, const cudaFuncAttributes& attributes) {
  description.registers_per_thread = attributes.numRegs;
  // Includes arrays and spills, which the runtime cannot tell apart.
  description.stack_bytes_per_thread = static_cast<std::int64_t>(attributes.localSizeBytes);
}

void throw_if_failed(const std::string& kernel) {
  if (const std::string wrong = in_words(cudaGetLastError(), kernel); !wrong.empty())
    throw provider::Refused(PLUMBLINE_ERROR, wrong);
}

}  // namespace plumbline::compiled
