// Loads and checks a provider's shared library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.h"

namespace plumbline {

struct ProviderLibrary {
  const plumbline_provider* provider = nullptr;
  std::string name;
  std::string version;
  std::vector<std::string> kernels;
  std::vector<std::string> tensor_cores;          // "on", "off" or "none" for each kernel
  std::vector<std::string> questions;             // "attention" or "merge" for each kernel
  std::vector<std::vector<std::string>> outputs;  // beyond out and lse, for each kernel
  std::optional<plumbline_device_memory> memory;  // result of whole_table()
  std::uint64_t features = 0;                     // plumbline_feature bits
  std::vector<std::string> devices;  // beside "cpu": emulated GPUs, and GPUs whose memory it
                                     // can allocate ("cuda:0")
  std::string no_device;             // why its memory functions reach no device; otherwise ""
};

// The provider rejects the options.
struct WrongOptions {
  std::string reason;
};

// Throws Stop with reason and remedy: library not found, symbol missing, wrong ABI version or
// struct size (both numbers named), fields missing. Throws WrongOptions if the library returns a
// provider only without the options, or if the query of a plain problem returns PLUMBLINE_ERROR.
// The library is never unloaded, because providers may leave threads and handlers running.
ProviderLibrary load_provider(const std::string& path, const std::string& options);

}  // namespace plumbline
