// emulator/cudart as the machine: device memory is the host's, and the case chooses the device.
#include <algorithm>
#include <cstring>

#include "emulator/architectures.h"
#include "emulator/cudart/plumbline_cudart.h"
#include "kernels/compiled/cuda.h"
#include "kernels/compiled/machine.h"

namespace plumbline::compiled {
namespace {

constexpr std::string_view prefix = "emulated:";

std::string_view arch_of(const plumbline_device& device) {
  const std::string_view name(device.arch, strnlen(device.arch, sizeof device.arch));
  return name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size()) : std::string_view();
}

std::uint32_t schedule_of(const MachineOptions& options, bool reversed) {
  using Schedule = MachineOptions::Schedule;
  if (options.schedule != Schedule::alternating)
    return static_cast<std::uint32_t>(options.schedule);
  return reversed ? PLUMBLINE_CUDART_REVERSED : PLUMBLINE_CUDART_IN_ORDER;
}

void configure(const plumbline_device& device, const MachineOptions& options, bool reversed) {
  auto settings = provider::sized<plumbline_cudart_settings>();
  provider::copy_text(arch_of(device), settings.arch);
  settings.schedule = schedule_of(options, reversed);
  settings.seed = options.seed;
  settings.independent_lanes = options.independent ? 1 : 0;
  settings.skipped_line = options.skipped_line;
  settings.collects_sites = options.skipped_line != 0 ? 1 : 0;
  if (const char* wrong = plumbline_cudart_configure(&settings))
    throw provider::Refused(PLUMBLINE_ERROR, wrong);
}

}  // namespace

std::string refuse_device(const plumbline_device& device) {
  if (std::string why =
          provider::refuse_other_devices(device, PLUMBLINE_EMULATED, "these compiled kernels");
      !why.empty())
    return why;
  const Architecture* const known = find_architecture(arch_of(device));
  if (known != nullptr && known->is_emulated && known->name == arch_of(device)) return "";
  return "emulated devices are " + std::string(emulator::names_of_emulated) +
         ", whose tensor cores were recorded on hardware";
}
int arch_number(const plumbline_device& device) {
  return std::stoi(std::string(arch_of(device).substr(3)));
}
std::string arch_name(const plumbline_device& device) { return std::string(arch_of(device)); }
const plumbline_device_memory* device_memory() { return nullptr; }
std::uint64_t features() { return PLUMBLINE_FEATURE_EMULATED; }

void make_current(const plumbline_device& device, const MachineOptions& options) {
  configure(device, options, false);
}

Run::Run(const plumbline_device& device, const MachineOptions& options,
         const plumbline_tensors& tensors, Launched& launched)
    : record_(launched) {
  configure(device, options, tensors.threads_reversed != 0);
  using Tensors = plumbline_tensors;
  for (plumbline_tensor Tensors::*const field :
       {&Tensors::q, &Tensors::k, &Tensors::v, &Tensors::out, &Tensors::lse, &Tensors::workspace,
        &Tensors::mask, &Tensors::alibi_slopes, &Tensors::sinks, &Tensors::q_scale,
        &Tensors::k_scale, &Tensors::v_scale, &Tensors::device_cu_seqlens_q,
        &Tensors::device_cu_seqlens_kv, &Tensors::device_seqlens_q, &Tensors::device_seqlens_kv,
        &Tensors::device_page_table, &Tensors::out_scale}) {
    if (!provider::has_field(tensors, field)) continue;
    const plumbline_tensor& tensor = tensors.*field;
    if (tensor.rank == 0 || tensor.bytes == 0) continue;
    plumbline_cudart_add_memory(tensor.data, tensor.bytes);
    allowed_.push_back(tensor.data);
  }
}
Run::~Run() {
  for (const void* const begin : allowed_) plumbline_cudart_remove_memory(begin);
}

void allow(const void* memory, std::uint64_t bytes) { plumbline_cudart_add_memory(memory, bytes); }
void disallow(const void* memory) { plumbline_cudart_remove_memory(memory); }

// Reports nothing: the emulator's register count is only an upper bound from the launch bounds.
void describe_threads(plumbline_description&, const cudaFuncAttributes&) {}

void throw_if_failed(const std::string& kernel) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw provider::Refused(PLUMBLINE_ERROR, kernel + ": " + plumbline_cudart_last_failure());
}

}  // namespace plumbline::compiled
