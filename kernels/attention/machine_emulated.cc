// The emulator as the machine: kernels compiled by g++ run on the CPU, with the tensor cores of the
// device's architecture.
#include "kernels/attention/machine_emulated.h"

#include <cstring>

#include "kernels/attention/emulated_launch.h"

namespace plumbline::attention {
namespace {

using emulator::Arch;

constexpr std::string_view device_prefix = "emulated:";

std::optional<Arch> arch(const plumbline_device& device) {
  const std::string_view name(device.arch, strnlen(device.arch, sizeof device.arch));
  return name.starts_with(device_prefix) ? emulator::parse_arch(name.substr(device_prefix.size()))
                                         : std::nullopt;
}

class HostIndices : public Indices {
 public:
  explicit HostIndices(std::vector<std::int32_t> values) : values_(std::move(values)) {}
  const std::int32_t* data() const override { return values_.data(); }

 private:
  std::vector<std::int32_t> values_;
};

}  // namespace

LaunchChange& launch_change() {
  static LaunchChange change;
  return change;
}

const char* provider_name() { return "emulated"; }
const char* build_id() { return PLUMBLINE_ATTENTION_BUILD_ID; }
const plumbline_device_memory* device_memory() { return nullptr; }

std::string refuse_device(const plumbline_device& device) {
  if (std::string why =
          provider::refuse_other_devices(device, PLUMBLINE_EMULATED, "the emulated kernels");
      !why.empty() || arch(device))
    return why;
  return std::string(device.arch, strnlen(device.arch, sizeof device.arch)) +
         " is not emulated: there are " + std::string(emulator::names_of_emulated) +
         ", whose tensor cores were recorded on hardware";
}

std::string arch_of(const plumbline_device& device) {
  return std::string(emulator::name(*arch(device)));
}
int arch_number(const plumbline_device& device) { return static_cast<int>(*arch(device)); }
std::int64_t max_block_shared_bytes(const plumbline_device& device) {
  return static_cast<std::int64_t>(emulator::max_shared_bytes(*arch(device)));
}

std::unique_ptr<Indices> copy_indices(const plumbline_device&, std::vector<std::int32_t> values) {
  return std::make_unique<HostIndices>(std::move(values));
}

Attributes attributes_of(const Instance&) { return {}; }

std::string launch(const plumbline_device& device, const Options& options, const Instance& instance,
                   const Grid& grid, int shared_bytes, const Parameters& parameters, void*) {
  const auto run = [&](const emulator::LaunchOptions& launch_options) {
    return launch_emulated(launch_options, instance, grid, shared_bytes, parameters);
  };
  const emulator::LaunchOptions launch_options = emulated_launch_options(*arch(device), options);
  if (launch_change()) return launch_change()(instance, launch_options, run);
  return run(launch_options);
}

}  // namespace plumbline::attention
