// Launches a translated kernel on the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "emulator/machine/launch.h"
#include "emulator/ptx/translate.h"
#include "emulator/ptx/translated/machine.h"

namespace plumbline::ptx {

// The memory that launches may touch. An address may have a tag (address_bits): a pointer with a
// tag reaches what was added under that tag alone.
class Allocations {
 public:
  void add(const void* begin, std::size_t bytes);
  void remove(const void* begin);  // what was added there; nothing where nothing was
  void clear();
  // Those of now, in ascending order: what a launch holds accesses against, without a lock.
  [[nodiscard]] std::vector<Range> ranges() const;
  // "160 bytes behind the 4096 that begin at 0x7f…": where an address lies that none holds.
  [[nodiscard]] std::string describe(std::uint64_t address) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ends_;  // by begin
};

// A kernel that has been compiled (compile.h), and what its text says of it.
struct Kernel {
  std::string name;  // for messages: "module.ptx"
  Translation facts;
  Entry entry = nullptr;
  std::shared_ptr<void> library;          // keeps `entry` loaded
  std::vector<std::string> source_files;  // Module::files
};

struct Launch {
  emulator::LaunchOptions options;  // without a fault: those change our own kernels alone
  emulator::Dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  const std::byte* parameters = nullptr;  // as Translation::parameters lays them out
  std::byte* module_memory = nullptr;     // as module_memory() lays it out
  // nullptr: accesses to global memory are not checked.
  const Allocations* allocations = nullptr;
};

// Options that compiled code may count on: lanes in lockstep, barriers known by their number.
emulator::LaunchOptions compiled_options(emulator::Arch);

// Empty text: fine. Else what went wrong in the first block (by index) where something did, with
// lines of the PTX, and of the source where the PTX names them (-lineinfo).
std::string launch(const Kernel&, const Launch&);

// The text with "module.ptx:LINE" followed by the place in the source.
std::string with_source_lines(std::string text, const Kernel&);

}  // namespace plumbline::ptx
