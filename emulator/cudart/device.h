// The emulated device of CUDA's run-time functions: modules, kernels, memory, settings.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "emulator/cudart/types.h"
#include "emulator/machine/launch.h"
#include "emulator/ptx/compile.h"

namespace plumbline::cudart {

struct Settings {
  emulator::LaunchOptions launch = ptx::compiled_options(emulator::Arch::sm_80);
  bool contract = true;
  unsigned skipped_line = 0;  // line of PTX whose barriers and waits are skipped; 0: none
  bool collects_sites = false;
};

// The error code and text of a failed call.
struct Failure {
  Error code;
  std::string text;
};

// A fat binary that a program registered. It is read when one of its kernels or variables is
// needed.
class Module {
 public:
  // `wrapper` is the argument of __cudaRegisterFatBinary and must outlive the module.
  explicit Module(const void* wrapper) : wrapper_(wrapper) {}
  ~Module();  // removes its variables from the device's allocations
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The parsed PTX for an architecture, with its variables in memory.
  struct Loaded {
    std::string name;  // in messages: "0123456789abcdef.ptx"
    std::string path;  // path of the text, in the cache of compiled kernels
    ptx::Module text;
    ptx::ModuleMemory variables;
    std::vector<std::byte> memory;
    // Keyed by name and by contraction of products and sums.
    std::map<std::pair<std::string, bool>, std::shared_ptr<const ptx::Kernel>> kernels;
  };
  // Reads the fat binary once for each architecture, because every launch calls this.
  tl::expected<Loaded*, Failure> load(emulator::Arch);

 private:
  tl::expected<Loaded*, Failure> read(emulator::Arch);

  const void* wrapper_;
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;  // by architecture of the PTX: "sm_80"
  std::map<emulator::Arch, Loaded*> by_arch_;              // by architecture of the device
};

// A kernel and a variable that a program registered. Device finds each by the address of its host
// counterpart.
struct Function {
  Module* module;
  std::string name;
  // cudaFuncAttributeMaxDynamicSharedMemorySize
  int max_dynamic_shared_bytes = 48 << 10;
};
struct Symbol {
  Module* module;
  std::string name;
  std::size_t bytes;
};

struct LaunchRequest {
  Dim3 grid, block;
  std::size_t dynamic_shared_bytes;
  void** arguments;  // one pointer per parameter
};

class Device {
 public:
  static Device& instance();

  [[nodiscard]] Settings settings() const;
  void set(const Settings&);

  Module* add_module(const void* wrapper);
  void remove_module(Module*);  // and its functions and symbols
  void add_function(const void* host, Module*, std::string_view name);
  void add_symbol(const void* host, Module*, std::string_view name, std::size_t bytes);

  // A compiled kernel with the limit that was set for it.
  struct Ready {
    std::shared_ptr<const ptx::Kernel> kernel;
    Module::Loaded* module;
    int max_dynamic_shared_bytes;
  };
  tl::expected<Ready, Failure> ready(const void* host);
  tl::expected<void, Failure> allow_dynamic_shared(const void* host, int bytes);
  tl::expected<void, Failure> launch(const void* host, const LaunchRequest&);
  // Returns the address and size of a module's variable.
  tl::expected<std::pair<std::byte*, std::size_t>, Failure> symbol(const void* host);

  ptx::Allocations& allocations() { return allocations_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  // Returns the barriers and waits that launches reached since the last call.
  std::set<emulator::SyncSite> take_sites();

 private:
  Device();

  mutable std::mutex mutex_;
  Settings settings_;
  std::map<const Module*, std::unique_ptr<Module>> modules_;
  std::map<const void*, Function> functions_;
  std::map<const void*, Symbol> symbols_;
  ptx::Allocations allocations_;
  std::set<emulator::SyncSite> sites_;
  std::atomic<std::uint64_t> launches_{0};
};

// Stores this thread's failure for cudaGetLastError and plumbline_cudart_last_failure.
Error report(const Failure&);
Error report(Error code, std::string text);
template <class Value>
Error finish(const tl::expected<Value, Failure>& result) {
  return result ? success : report(result.error());
}
// Returns this thread's last error; `taken` resets it.
Error last_error(bool taken);
const char* last_text();

}  // namespace plumbline::cudart
