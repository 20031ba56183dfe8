// Loads the library, and checks its version, struct sizes, functions and names before any use.
#include "harness/provider/child/library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <sstream>
#include <utility>

#include "harness/problem/arch.h"
#include "harness/provider/child/call.h"
#include "harness/provider/child/device_memory.h"
#include "harness/provider/description_check.h"

namespace plumbline {

namespace {

// Returns the remedy for a dlopen error, recognized by glibc's message.
std::string loading_remedy(const std::string& problem) {
  const auto says = [&](const char* words) { return problem.find(words) != std::string::npos; };
  const std::string build =
      "build one from C or C++: c++ -std=c++17 -shared -fPIC -I \"$(plumbline --include-dir)\" "
      "mine.cc -o libmine.so; a Python file is loaded by its name, mine.py";
  if (says("invalid ELF header") || says("file too short") || says("wrong ELF class") ||
      says("cannot dynamically load executable"))
    return "this is not a shared library for this machine; " + build;
  if (says("undefined symbol")) return "link the library that defines this symbol";
  if (says("cannot open shared object file"))
    return "install the library that is named, or put its folder into LD_LIBRARY_PATH";
  return "";
}

plumbline_get_provider_function entry_point(const std::string& path) {
  void* library = nullptr;
  std::string problem;
  call_provider("loading", [&](char*, std::size_t) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) problem = dlerror();
    return PLUMBLINE_OK;
  });
  if (library == nullptr) {
    throw Stop{Status::error, fmt::format("cannot load provider: {}", problem),
               loading_remedy(problem)};
  }
  void* symbol = dlsym(library, "plumbline_get_provider");
  if (symbol == nullptr) {
    throw Stop{Status::error, fmt::format("{} does not export plumbline_get_provider", path),
               fmt::format("define it as plumbline_provider.h declares it: extern \"C\", and "
                           "PLUMBLINE_EXPORT for default visibility; `nm -D {}` lists what is "
                           "exported",
                           path)};
  }
  return reinterpret_cast<plumbline_get_provider_function>(symbol);
}

// Sizes in the first release of this ABI version; later fields are optional.
constexpr std::size_t required_bytes = offsetof(plumbline_provider, kernel_tensor_cores);
constexpr std::size_t required_memory_bytes = offsetof(plumbline_device_memory, device_count);

constexpr std::uint32_t max_kernels = 65536;

constexpr const char* rebuild_remedy = "build it again with this plumbline's plumbline_provider.h";

// Checks the version first, because later fields may differ in another version.
void check_version(const std::string& path, const plumbline_provider& p) {
  if (p.abi_version != PLUMBLINE_ABI_VERSION) {
    throw Stop{Status::error,
               fmt::format("{} was built for ABI version {}, this plumbline speaks version {}",
                           path, p.abi_version, PLUMBLINE_ABI_VERSION),
               rebuild_remedy};
  }
  if (p.struct_size < required_bytes) {
    throw Stop{Status::error,
               fmt::format("{}: its plumbline_provider has {} bytes, this plumbline needs {}", path,
                           p.struct_size, required_bytes),
               rebuild_remedy};
  }
}

void check_fields(const std::string& path, const plumbline_provider& p) {
  const bool complete = p.name != nullptr && p.version != nullptr && p.kernel_name != nullptr &&
                        p.query != nullptr && p.prepare != nullptr && p.run != nullptr &&
                        p.describe != nullptr && p.destroy != nullptr;
  if (!complete)
    throw Stop{Status::error, fmt::format("{}: a field of its plumbline_provider is null", path)};
  if (p.kernel_count > max_kernels) {
    throw Stop{Status::error, fmt::format("{}: it claims {} kernels, more than {}", path,
                                          p.kernel_count, max_kernels)};
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

// Returns the provider's text, cut off if it is not terminated.
std::string text_of(const char* text) {
  constexpr std::size_t longest = 4096;
  return text == nullptr ? "" : std::string(text, strnlen(text, longest));
}

// The next functions return the provider's texts, "" for NULL. check_names() checks them outside
// call_provider(), which would report a Stop as an exception of the provider.
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

// Returns "" for an unknown plumbline_question.
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

std::vector<std::vector<std::string>> outputs(const plumbline_provider& p) {
  constexpr std::size_t needed =
      offsetof(plumbline_provider, kernel_outputs) + sizeof plumbline_provider::kernel_outputs;
  std::vector<std::vector<std::string>> names(p.kernel_count);
  const bool present = p.struct_size >= needed && p.kernel_outputs != nullptr;
  for (std::uint32_t i = 0; present && i < p.kernel_count; ++i) {
    std::istringstream text(text_of(p.kernel_outputs(i)));
    for (std::string name; std::getline(text, name, ',');) names[i].push_back(name);
  }
  return names;
}

void check_names(const std::string& path, const ProviderLibrary& library) {
  if (const std::string fault =
          names_fault(library.name, library.kernels, library.tensor_cores, library.questions);
      !fault.empty()) {
    throw Stop{Status::error, fmt::format("{}: {}", path, fault)};
  }
  if (const std::string fault = outputs_fault(library.kernels, library.outputs); !fault.empty())
    throw Stop{Status::error, fmt::format("{}: {}", path, fault)};
}

const plumbline_provider* table_of(plumbline_get_provider_function get_provider,
                                   const std::string& options) {
  const plumbline_provider* table = nullptr;
  call_provider("loading", [&](char*, std::size_t) {
    table = get_provider(PLUMBLINE_ABI_VERSION, options.c_str());
    return PLUMBLINE_OK;
  });
  return table;
}

// Returns a problem that most kernels support.
plumbline_problem plain_problem(std::uint32_t question) {
  plumbline_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype_q = problem.dtype_kv = problem.dtype_out = PLUMBLINE_F32;
  problem.batch = problem.heads_q = problem.heads_kv = 1;
  problem.seq_q = problem.total_q = 1;
  problem.seq_kv = problem.total_kv = 16;
  problem.head_dim_qk = question == PLUMBLINE_MERGE ? 1 : 64;
  problem.head_dim_vo = 64;
  problem.window_left = problem.window_right = -1;
  problem.scale = 0.125;
  problem.question = question;
  return problem;
}

// Throws WrongOptions with the reason of a query that returns PLUMBLINE_ERROR.
void refuse_wrong_options(const ProviderLibrary& library, const std::string& options) {
  if (options.empty() || library.kernels.empty()) return;
  const bool is_merge = library.questions.front() == "merge";
  const plumbline_problem problem = plain_problem(is_merge ? PLUMBLINE_MERGE : PLUMBLINE_ATTENTION);
  const plumbline_device device{sizeof device, PLUMBLINE_HOST, 0, 0, "x86-64-v3"};
  std::array<char, 1024> reason{};
  plumbline_status status = PLUMBLINE_OK;
  call_provider("loading", [&](char*, std::size_t) {
    status = library.provider->query(0, &problem, &device, reason.data(), reason.size());
    return PLUMBLINE_OK;
  });
  if (status == PLUMBLINE_ERROR) throw WrongOptions{text_of(reason.data())};
}

}  // namespace

ProviderLibrary load_provider(const std::string& path, const std::string& options) {
  const auto get_provider = entry_point(path);
  ProviderLibrary library;
  library.provider = table_of(get_provider, options);
  if (library.provider == nullptr) {
    if (!options.empty() && table_of(get_provider, "") != nullptr) {
      throw WrongOptions{fmt::format(
          "the provider does not take the options \"{}\" (plumbline_get_provider returned null)",
          options)};
    }
    throw Stop{Status::error,
               fmt::format("{} cannot serve ABI version {} with options \"{}\" "
                           "(plumbline_get_provider returned null)",
                           path, PLUMBLINE_ABI_VERSION, options),
               "return the table of the provider's functions: null means that the provider was "
               "built for another ABI version"};
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
    library.outputs = outputs(p);
    return PLUMBLINE_OK;
  });
  check_names(path, library);
  refuse_wrong_options(library, options);
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
