// A provider's shared library, loaded and checked.
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
  std::vector<std::string> tensor_cores;          // "on", "off" or "none", one for each kernel
  std::vector<std::string> questions;             // "attention" or "merge", likewise
  std::vector<std::vector<std::string>> outputs;  // beyond out and lse, likewise
  std::optional<plumbline_device_memory> memory;  // a whole table, whatever size the provider's has
  std::uint64_t features = 0;                     // plumbline_feature bits
  std::vector<std::string> devices;  // beside "cpu" those on which it can get memory, "cuda:0"
  std::string no_device;             // why its memory functions reach no device; "" else
};

// The library takes no such options.
struct WrongOptions {
  std::string reason;
};

// Throws Stop with what is wrong and what to do: library not found, symbol missing, wrong ABI
// version or struct size (both numbers named), fields missing. Throws WrongOptions where a query of
// a plain problem answers with PLUMBLINE_ERROR while there are options. The library is never
// unloaded: providers may leave threads and handlers running.
ProviderLibrary load_provider(const std::string& path, const std::string& options);

}  // namespace plumbline
