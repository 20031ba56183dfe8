// Loads modules from fat binaries, compiles kernels on first use, and launches them.
#include "emulator/cudart/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "emulator/ptx/device.h"
#include "emulator/ptx/fat_binary.h"

namespace plumbline::cudart {
namespace {

tl::unexpected<Failure> fail(Error code, std::string text) {
  return tl::unexpected(Failure{code, std::move(text)});
}

// Saves the text next to the compiled kernels, for messages that name its lines. Returns the path,
// or `name` if there is no cache folder.
std::string keep_text(const std::string& name, const std::string& text) {
  const auto folder = ptx::cache_folder({});
  if (!folder) return name;
  const auto path = *folder / name;
  if (!std::filesystem::exists(path)) {
    const std::string mine = fmt::format("{}.{}", path.string(), getpid());
    std::ofstream(mine) << text;
    std::error_code ignored;
    std::filesystem::rename(mine, path, ignored);
  }
  return path.string();
}

// Returns the folder of kernels that were compiled when their provider was built:
// emulated/compiled for the library emulated/12/libcudart.so.12.
std::filesystem::path prebuilt_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&prebuilt_folder), &info) == 0) return {};
  const std::filesystem::path library(info.dli_fname);
  return library.parent_path().parent_path() / "compiled";
}

}  // namespace

tl::expected<Module::Loaded*, Failure> Module::load(emulator::Arch arch) {
  if (const auto known = by_arch_.find(arch); known != by_arch_.end()) return known->second;
  const auto loaded = read(arch);
  if (loaded) by_arch_[arch] = *loaded;
  return loaded;
}

tl::expected<Module::Loaded*, Failure> Module::read(emulator::Arch arch) {
  const auto bytes = ptx::registered_fat_binary(wrapper_);
  if (!bytes) return fail(invalid_kernel_image, bytes.error());
  const auto entries = ptx::read_fat_binary(*bytes);
  if (!entries) return fail(invalid_kernel_image, entries.error());
  const auto chosen = ptx::choose_ptx(*entries, arch);
  if (!chosen) return fail(no_kernel_image_for_device, chosen.error());
  const ptx::FatBinaryEntry& entry = **chosen;
  auto& loaded = loaded_[ptx::architecture(entry)];
  if (loaded) return loaded.get();
  auto fresh = std::make_unique<Loaded>();
  fresh->name = ptx::text_name(entry.text);
  fresh->path = keep_text(fresh->name, entry.text);
  auto text = ptx::parse(entry.text);
  if (!text)
    return fail(invalid_kernel_image,
                fmt::format("{}:{}: {}", fresh->path, text.error().line, text.error().text));
  fresh->text = std::move(*text);
  fresh->variables = ptx::module_memory(fresh->text);
  fresh->memory = fresh->variables.initial;
  Device::instance().allocations().add(fresh->memory.data(), fresh->memory.size());
  loaded = std::move(fresh);
  return loaded.get();
}

Module::~Module() {
  for (const auto& [arch, loaded] : loaded_)
    if (loaded) Device::instance().allocations().remove(loaded->memory.data());
}

Device& Device::instance() {
  // Never destroyed, because programs unregister their modules when the process ends.
  static auto* const device = new Device;
  return *device;
}

Device::Device() {
  const char* const name = std::getenv("PLUMBLINE_CUDART_ARCH");
  if (name == nullptr) return;
  if (const auto arch = emulator::parse_arch(name)) {
    settings_.launch.arch = *arch;
  } else {
    fmt::print(stderr,
               "plumbline cudart: PLUMBLINE_CUDART_ARCH={} is not emulated; remedy: one of {}\n",
               name, emulator::names_of_emulated);
    std::exit(2);
  }
}

Settings Device::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}
void Device::set(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
}

Module* Device::add_module(const void* wrapper) {
  const std::lock_guard lock(mutex_);
  auto module = std::make_unique<Module>(wrapper);
  Module* const address = module.get();
  modules_[address] = std::move(module);
  return address;
}

void Device::remove_module(Module* module) {
  const std::lock_guard lock(mutex_);
  std::erase_if(functions_, [&](const auto& one) { return one.second.module == module; });
  std::erase_if(symbols_, [&](const auto& one) { return one.second.module == module; });
  modules_.erase(module);
}

void Device::add_function(const void* host, Module* module, std::string_view name) {
  const std::lock_guard lock(mutex_);
  functions_[host] = {module, std::string(name)};
}
void Device::add_symbol(const void* host, Module* module, std::string_view name,
                        std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  symbols_[host] = {module, std::string(name), bytes};
}

tl::expected<Device::Ready, Failure> Device::ready(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto function = functions_.find(host);
  if (function == functions_.end())
    return fail(invalid_device_function,
                "no kernel was registered under this address; remedy: link its object file, "
                "compiled with device code, into the program");
  const auto module = function->second.module->load(settings_.launch.arch);
  if (!module) return tl::unexpected(module.error());
  auto& kernel = (*module)->kernels[{function->second.name, settings_.contract}];
  if (!kernel) {
    ptx::CompileOptions how;
    how.prebuilt = prebuilt_folder();
    auto compiled = ptx::compile((*module)->text, function->second.name, (*module)->name,
                                 {.contract = settings_.contract}, how);
    if (!compiled) return fail(invalid_kernel_image, compiled.error());
    kernel = std::make_shared<const ptx::Kernel>(std::move(*compiled));
  }
  return Ready{kernel, *module, function->second.max_dynamic_shared_bytes};
}

tl::expected<void, Failure> Device::allow_dynamic_shared(const void* host, int bytes) {
  const std::lock_guard lock(mutex_);
  const auto function = functions_.find(host);
  if (function == functions_.end())
    return fail(invalid_device_function, "no kernel was registered under this address");
  const auto most =
      static_cast<int>(ptx::device(settings_.launch.arch).shared_bytes_per_block_optin);
  if (bytes < 0 || bytes > most)
    return fail(
        invalid_value,
        fmt::format("{}: {} bytes of dynamic shared memory, but {} are the most for a block on {}",
                    function->second.name, bytes, most, emulator::name(settings_.launch.arch)));
  function->second.max_dynamic_shared_bytes = bytes;
  return {};
}

tl::expected<void, Failure> Device::launch(const void* host, const LaunchRequest& request) {
  auto ready = this->ready(host);
  if (!ready) return tl::unexpected(ready.error());
  const ptx::Kernel& kernel = *ready->kernel;
  const std::string what = kernel.facts.symbol;
  if (static_cast<std::int64_t>(request.dynamic_shared_bytes) >
      static_cast<std::int64_t>(ready->max_dynamic_shared_bytes))
    return fail(invalid_value,
                fmt::format("{}: {} bytes of dynamic shared memory, of {} allowed; remedy: "
                            "cudaFuncSetAttribute(kernel, "
                            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
                            what, request.dynamic_shared_bytes, ready->max_dynamic_shared_bytes));
  const std::uint64_t threads = std::uint64_t{request.block.x} * request.block.y * request.block.z;
  if (threads == 0 || threads > 1024 || request.grid.x == 0 || request.grid.y == 0 ||
      request.grid.z == 0 || request.grid.y > 65535 || request.grid.z > 65535)
    return fail(invalid_configuration,
                fmt::format("{}: grid {}x{}x{} of blocks {}x{}x{}: a block has 1 to 1024 threads, "
                            "a grid at most 2^31-1 x 65535 x 65535 blocks",
                            what, request.grid.x, request.grid.y, request.grid.z, request.block.x,
                            request.block.y, request.block.z));
  std::vector<std::byte> parameters(std::max<std::size_t>(kernel.facts.parameter_bytes, 1));
  for (std::size_t i = 0; i < kernel.facts.parameters.size(); ++i) {
    const ptx::Parameter& parameter = kernel.facts.parameters[i];
    std::memcpy(parameters.data() + parameter.offset, request.arguments[i], parameter.bytes);
  }
  const Settings settings = this->settings();
  ptx::Launch launch;
  launch.options = settings.launch;
  if (settings.skipped_line != 0)
    launch.options.skipped = emulator::SyncSite{ready->module->name, settings.skipped_line, ""};
  std::set<emulator::SyncSite> sites;
  if (settings.collects_sites) launch.options.sites = &sites;
  launch.grid = {request.grid.x, request.grid.y, request.grid.z};
  launch.block = {request.block.x, request.block.y, request.block.z};
  launch.dynamic_shared_bytes = request.dynamic_shared_bytes;
  launch.parameters = parameters.data();
  launch.module_memory = ready->module->memory.data();
  launch.allocations = &allocations_;
  ++launches_;
  std::string text = ptx::launch(kernel, launch);
  {
    const std::lock_guard lock(mutex_);
    sites_.merge(sites);
  }
  if (!text.empty())
    return fail(launch_failure, fmt::format("{}: {}\n  {} is {}", what, text, ready->module->name,
                                            ready->module->path));
  return {};
}

std::set<emulator::SyncSite> Device::take_sites() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sites_, {});
}

tl::expected<std::pair<std::byte*, std::size_t>, Failure> Device::symbol(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto symbol = symbols_.find(host);
  if (symbol == symbols_.end())
    return fail(invalid_symbol, "no variable of the device was registered under this address");
  const auto module = symbol->second.module->load(settings_.launch.arch);
  if (!module) return tl::unexpected(module.error());
  const auto offset = (*module)->variables.offsets.find(symbol->second.name);
  if (offset == (*module)->variables.offsets.end())
    return fail(invalid_symbol,
                fmt::format("{} has no variable {}", (*module)->path, symbol->second.name));
  return std::pair{(*module)->memory.data() + offset->second, symbol->second.bytes};
}

}  // namespace plumbline::cudart
