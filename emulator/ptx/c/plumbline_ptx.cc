// The C interface of compiled kernels: strings in and out, no exceptions.
#include "emulator/ptx/c/plumbline_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/ptx/compile.h"

struct plumbline_ptx_kernel {
  plumbline::ptx::Kernel kernel;
  std::vector<std::byte> memory;  // the module's variables
};

struct plumbline_ptx_allocations {
  plumbline::ptx::Allocations list;
};

namespace plumbline::ptx {
namespace {

struct Failure {
  std::string text;
};

void tell(std::string_view text, char* error, std::size_t error_bytes) {
  if (error == nullptr || error_bytes == 0) return;
  *std::ranges::copy(text.substr(0, error_bytes - 1), error).out = '\0';
}

// Returns the result of `body`. If it throws, stores the exception's text and returns `failed`.
template <class Result, class Body>
Result guarded(Result failed, char* error, std::size_t error_bytes, const Body& body) {
  tell({}, error, error_bytes);
  try {
    return body();
  } catch (const Failure& failure) {
    tell(failure.text, error, error_bytes);
  } catch (const std::bad_alloc&) {
    tell("out of memory", error, error_bytes);
  } catch (const std::exception& exception) {
    tell(fmt::format("internal error: {}", exception.what()), error, error_bytes);
  }
  return failed;
}

// Throws if an initial value is unknown, such as the address of another variable, because the
// variable would silently be wrong.
void require_known(const ModuleMemory& memory, const std::string& name) {
  if (memory.unknown.empty()) return;
  const auto& [variable, line] = *memory.unknown.begin();
  throw Failure{fmt::format("{}:{}: the initial value of {} is not known", name, line, variable)};
}

std::unique_ptr<plumbline_ptx_kernel> loaded(std::string_view text, const char* entry,
                                             const std::string& name, std::uint32_t flags) {
  const auto module = parse(text);
  if (!module)
    throw Failure{fmt::format("{}:{}: {}", name, module.error().line, module.error().text)};
  ModuleMemory memory = module_memory(*module);
  require_known(memory, name);
  Options options;
  options.contract = (flags & PLUMBLINE_PTX_SEPARATE_PRODUCTS) == 0;
  auto kernel = compile(*module, entry, name, options, {});
  if (!kernel) throw Failure{kernel.error()};
  auto made = std::make_unique<plumbline_ptx_kernel>();
  made->kernel = std::move(*kernel);
  made->memory = std::move(memory.initial);
  return made;
}

emulator::LaunchOptions options_of(const plumbline_ptx_launch_options& stated) {
  const auto arch = emulator::parse_arch(stated.arch);
  if (!arch)
    throw Failure{fmt::format("no architecture {}\n  remedy: name one of {}", stated.arch,
                              emulator::names_of_emulated)};
  emulator::LaunchOptions options = compiled_options(*arch);
  if (stated.schedule < 0 || stated.schedule > PLUMBLINE_PTX_RANDOM)
    throw Failure{fmt::format("schedule {} is not 0, 1 or 2", stated.schedule)};
  options.schedule = static_cast<emulator::Schedule>(stated.schedule);
  options.seed = stated.seed;
  if (stated.lanes == PLUMBLINE_PTX_INDEPENDENT) options.lanes = emulator::Lanes::independent;
  return options;
}

int run(const plumbline_ptx_kernel& kernel, const plumbline_ptx_launch_options& stated) {
  Launch how;
  how.options = options_of(stated);
  how.grid = {stated.grid[0], stated.grid[1], stated.grid[2]};
  how.block = {stated.block[0], stated.block[1], stated.block[2]};
  how.dynamic_shared_bytes = stated.dynamic_shared_bytes;
  how.parameters = static_cast<const std::byte*>(stated.parameters);
  // As on a GPU, launches of a kernel share its module's variables.
  how.module_memory = const_cast<std::byte*>(kernel.memory.data());
  if (stated.allocations != nullptr) how.allocations = &stated.allocations->list;
  std::string text = launch(kernel.kernel, how);
  if (!text.empty()) throw Failure{std::move(text)};
  return 0;
}

}  // namespace
}  // namespace plumbline::ptx

using plumbline::ptx::guarded;

int32_t plumbline_ptx_interface() { return PLUMBLINE_PTX_INTERFACE; }

plumbline_ptx_kernel* plumbline_ptx_load(const char* text, size_t bytes, const char* entry,
                                         const char* name, uint32_t flags, char* error,
                                         size_t error_bytes) {
  return guarded<plumbline_ptx_kernel*>(nullptr, error, error_bytes, [&] {
    return plumbline::ptx::loaded({text, bytes}, entry, name, flags).release();
  });
}

void plumbline_ptx_unload(plumbline_ptx_kernel* kernel) { delete kernel; }

size_t plumbline_ptx_parameter_count(const plumbline_ptx_kernel* kernel) {
  return kernel->kernel.facts.parameters.size();
}

size_t plumbline_ptx_parameter_bytes(const plumbline_ptx_kernel* kernel) {
  return kernel->kernel.facts.parameter_bytes;
}

int32_t plumbline_ptx_parameter(const plumbline_ptx_kernel* kernel, size_t index, size_t* offset,
                                size_t* bytes) {
  const auto& parameters = kernel->kernel.facts.parameters;
  if (index >= parameters.size()) return 1;
  *offset = parameters[index].offset;
  *bytes = parameters[index].bytes;
  return 0;
}

size_t plumbline_ptx_static_shared_bytes(const plumbline_ptx_kernel* kernel) {
  return kernel->kernel.facts.static_shared_bytes;
}

plumbline_ptx_allocations* plumbline_ptx_allocations_new() {
  return new (std::nothrow) plumbline_ptx_allocations;
}

void plumbline_ptx_allocations_free(plumbline_ptx_allocations* allocations) { delete allocations; }

void plumbline_ptx_allocations_add(plumbline_ptx_allocations* allocations, const void* begin,
                                   size_t bytes) {
  guarded<int>(0, nullptr, 0, [&] {
    allocations->list.add(begin, bytes);
    return 0;
  });
}

void plumbline_ptx_allocations_remove(plumbline_ptx_allocations* allocations, const void* begin) {
  allocations->list.remove(begin);
}

void plumbline_ptx_allocations_clear(plumbline_ptx_allocations* allocations) {
  allocations->list.clear();
}

int32_t plumbline_ptx_launch(const plumbline_ptx_kernel* kernel,
                             const plumbline_ptx_launch_options* options, char* error,
                             size_t error_bytes) {
  return guarded<int32_t>(1, error, error_bytes,
                          [&] { return plumbline::ptx::run(*kernel, *options); });
}
