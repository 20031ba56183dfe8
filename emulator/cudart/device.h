// The emulated device behind the functions of CUDA's run-time: modules, kernels, memory, settings.
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
  unsigned skipped_line = 0;  // of PTX: its barriers and waits are left out
  bool collects_sites = false;
};

// What a call could not do: the code it returns, and why in words.
struct Failure {
  Error code;
  std::string text;
};

// A fat binary that a program registered. Nothing of it is read before a kernel of it is needed.
class Module {
 public:
  // What __cudaRegisterFatBinary is given; it must stay where it is.
  explicit Module(const void* wrapper) : wrapper_(wrapper) {}

  // The PTX for an architecture, parsed, and its variables in memory.
  struct Loaded {
    std::string name;  // in messages: "0123456789abcdef.ptx"
    std::string path;  // of the text, in the cache of compiled kernels
    ptx::Module text;
    ptx::ModuleMemory variables;
    std::vector<std::byte> memory;
    // By name and whether products and sums are contracted.
    std::map<std::pair<std::string, bool>, std::shared_ptr<const ptx::Kernel>> kernels;
  };
  // Reads the fat binary once for each architecture; launches ask each time.
  tl::expected<Loaded*, Failure> load(emulator::Arch);

 private:
  tl::expected<Loaded*, Failure> read(emulator::Arch);

  const void* wrapper_;
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;  // by the PTX's architecture: "sm_80"
  std::map<emulator::Arch, Loaded*> of_arch_;              // by the device's
};

// What a program registered under the address of its own stub.
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
  void** arguments;  // one pointer a parameter
};

class Device {
 public:
  static Device& instance();

  [[nodiscard]] Settings settings() const;
  void set(const Settings&);

  Module* add_module(const void* wrapper);
  void remove_module(Module*);  // with its functions and symbols
  void add_function(const void* host, Module*, std::string_view name);
  void add_symbol(const void* host, Module*, std::string_view name, std::size_t bytes);

  // A kernel ready to run, compiled where it was not yet; with the limits that were set for it.
  struct Ready {
    std::shared_ptr<const ptx::Kernel> kernel;
    Module::Loaded* module;
    int max_dynamic_shared_bytes;
  };
  tl::expected<Ready, Failure> ready(const void* host);
  tl::expected<void, Failure> allow_dynamic_shared(const void* host, int bytes);
  tl::expected<void, Failure> launch(const void* host, const LaunchRequest&);
  // Where a variable of a module lies, and how large it is.
  tl::expected<std::pair<std::byte*, std::size_t>, Failure> symbol(const void* host);

  ptx::Allocations& allocations() { return allocations_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  // The barriers and waits that launches reached, and none from now on.
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

// Keeps the failure for cudaGetLastError and plumbline_cudart_last_failure of this thread.
Error report(const Failure&);
Error report(Error code, std::string text);
template <class Value>
Error finish(const tl::expected<Value, Failure>& result) {
  return result ? success : report(result.error());
}
// What this thread reported last; taken: it is then no more.
Error last_error(bool taken);
const char* last_text();

}  // namespace plumbline::cudart
