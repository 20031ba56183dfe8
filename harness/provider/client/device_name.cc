// Parses device names such as cpu, cuda:0 and emulated:sm_90.
#include "harness/provider/client/device_name.h"

#include <fmt/core.h>

#include <charconv>

namespace plumbline {

namespace {

// Returns the text after "prefix:", or nothing.
std::string_view text_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix) || name.size() <= prefix.size() || name[prefix.size()] != ':')
    return {};
  return name.substr(prefix.size() + 1);
}

}  // namespace

Result<protocol::Device> parse_device(std::string_view name) {
  protocol::Device device;
  device.name = name;
  if (name == "cpu") {
    device.memory_space = PLUMBLINE_HOST;
    device.arch = "x86-64-v3";
    return device;
  }
  if (const std::string_view ordinal = text_after("cuda", name); !ordinal.empty()) {
    device.memory_space = PLUMBLINE_CUDA;
    const char* const end = ordinal.data() + ordinal.size();
    const auto [at, error] = std::from_chars(ordinal.data(), end, device.ordinal);
    if (error == std::errc{} && at == end && device.ordinal >= 0) return device;
  }
  if (!text_after("emulated", name).empty() && name.size() < sizeof plumbline_device{}.arch) {
    device.memory_space = PLUMBLINE_EMULATED;
    device.arch = name;
    return device;
  }
  return fail(fmt::format("device \"{}\" is not known", name),
              "use cpu, cuda:N or emulated:ARCH, for example emulated:sm_90");
}

}  // namespace plumbline
