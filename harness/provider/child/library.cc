// Loads the library, and checks its version, struct sizes, functions and names before any use.
#include "harness/provider/child/library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "harness/problem/arch.h"
#include "harness/provider/child/call.h"
#include "harness/provider/child/device_memory.h"
#include "harness/provider/description_check.h"

namespace plumbline {

namespace {

plumbline_get_provider_function entry_point(const std::string& path) {
  void* library = nullptr;
  std::string problem;
  call_provider("loading", [&](char*, std::size_t) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) problem = dlerror();
    return PLUMBLINE_OK;
  });
  if (library == nullptr)
    throw Stop{Status::error, fmt::format("cannot load provider: {}", problem)};
  void* symbol = dlsym(library, "plumbline_get_provider");
  if (symbol == nullptr)
    throw Stop{Status::error, fmt::format("{} does not export plumbline_get_provider", path)};
  return reinterpret_cast<plumbline_get_provider_function>(symbol);
}

// What the first release of this ABI version had; the fields behind it are optional.
constexpr std::size_t required_bytes = offsetof(plumbline_provider, kernel_tensor_cores);
constexpr std::size_t required_memory_bytes = offsetof(plumbline_device_memory, device_count);

constexpr std::uint32_t most_kernels = 65536;

// Versions first: in another version the fields behind them may mean something else.
void check_version(const std::string& path, const plumbline_provider& p) {
  if (p.abi_version != PLUMBLINE_ABI_VERSION) {
    throw Stop{Status::error,
               fmt::format("{} was built for ABI version {}, this plumbline speaks version {}",
                           path, p.abi_version, PLUMBLINE_ABI_VERSION)};
  }
  if (p.struct_size < required_bytes) {
    throw Stop{Status::error,
               fmt::format("{}: its plumbline_provider has {} bytes, this plumbline needs {}", path,
                           p.struct_size, required_bytes)};
  }
}

void check_fields(const std::string& path, const plumbline_provider& p) {
  const bool complete = p.name != nullptr && p.version != nullptr && p.kernel_name != nullptr &&
                        p.query != nullptr && p.prepare != nullptr && p.run != nullptr &&
                        p.describe != nullptr && p.destroy != nullptr;
  if (!complete)
    throw Stop{Status::error, fmt::format("{}: a field of its plumbline_provider is null", path)};
  if (p.kernel_count > most_kernels) {
    throw Stop{Status::error, fmt::format("{}: it claims {} kernels, more than {}", path,
                                          p.kernel_count, most_kernels)};
  }
  if (const auto* m = p.memory; m != nullptr) {
    if (m->struct_size < required_memory_bytes) {
      throw Stop{
          Status::error,
          fmt::format("{}: its plumbline_device_memory has {} bytes, this plumbline needs {}", path,
                      m->struct_size, required_memory_bytes)};
    }
    if (m->allocate == nullptr || m->release == nullptr || m->copy_to_device == nullptr ||
        m->copy_to_host == nullptr || m->synchronize == nullptr) {
      throw Stop{Status::error,
                 fmt::format("{}: a function of its plumbline_device_memory is null", path)};
    }
  }
}

// A text of the provider's, as far as it can be a name: the rest of one that does not end is not
// looked at.
std::string text_of(const char* text) {
  constexpr std::size_t longest = 4096;
  return text == nullptr ? "" : std::string(text, strnlen(text, longest));
}

// What the provider says, with "" for NULL: checked once its functions have returned, because an
// exception that leaves one of them is its own.
std::vector<std::string> kernel_names(const plumbline_provider& p) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < p.kernel_count; ++i) {
    names.push_back(text_of(p.kernel_name(i)));
  }
  return names;
}

std::vector<std::string> tensor_cores(const plumbline_provider& p) {
  std::vector<std::string> words(p.kernel_count, "none");
  const bool present = p.struct_size >= required_bytes + sizeof p.kernel_tensor_cores &&
                       p.kernel_tensor_cores != nullptr;
  for (std::uint32_t i = 0; present && i < p.kernel_count; ++i) {
    words[i] = text_of(p.kernel_tensor_cores(i));
  }
  return words;
}

// "" for a number that stands for none.
std::vector<std::string> questions(const plumbline_provider& p) {
  constexpr std::size_t needed =
      offsetof(plumbline_provider, kernel_question) + sizeof plumbline_provider::kernel_question;
  std::vector<std::string> words(p.kernel_count, "attention");
  const bool present = p.struct_size >= needed && p.kernel_question != nullptr;
  for (std::uint32_t i = 0; present && i < p.kernel_count; ++i) {
    const std::uint32_t question = p.kernel_question(i);
    words[i] = question == PLUMBLINE_ATTENTION ? "attention"
               : question == PLUMBLINE_MERGE   ? "merge"
                                               : "";
  }
  return words;
}

void check_names(const std::string& path, const ProviderLibrary& library) {
  if (const std::string fault =
          names_fault(library.name, library.kernels, library.tensor_cores, library.questions);
      !fault.empty()) {
    throw Stop{Status::error, fmt::format("{}: {}", path, fault)};
  }
}

}  // namespace

ProviderLibrary load_provider(const std::string& path, const std::string& options) {
  const auto get_provider = entry_point(path);
  ProviderLibrary library;
  call_provider("loading", [&](char*, std::size_t) {
    library.provider = get_provider(PLUMBLINE_ABI_VERSION, options.c_str());
    return PLUMBLINE_OK;
  });
  if (library.provider == nullptr) {
    throw Stop{Status::error, fmt::format("{} cannot serve ABI version {} with options \"{}\" "
                                          "(plumbline_get_provider returned null)",
                                          path, PLUMBLINE_ABI_VERSION, options)};
  }
  const plumbline_provider& p = *library.provider;
  check_version(path, p);
  check_fields(path, p);
  call_provider("loading", [&](char*, std::size_t) {
    library.name = text_of(p.name);
    library.version = text_of(p.version);
    library.kernels = kernel_names(p);
    library.tensor_cores = tensor_cores(p);
    library.questions = questions(p);
    return PLUMBLINE_OK;
  });
  check_names(path, library);
  if (p.struct_size >= offsetof(plumbline_provider, features) + sizeof p.features)
    library.features = p.features;
  if ((library.features & PLUMBLINE_FEATURE_EMULATED) != 0) {
    for (const std::string_view arch : emulated_archs())
      library.devices.push_back(fmt::format("emulated:{}", arch));
  }
  if (p.memory != nullptr) {
    library.memory = whole_table(*p.memory);
    UsableDevices found = usable_devices(*library.memory);
    for (std::string& device : found.names) library.devices.push_back(std::move(device));
    library.no_device = std::move(found.why_none);
  }
  return library;
}

}  // namespace plumbline
