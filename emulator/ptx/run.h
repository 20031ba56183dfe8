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

// The memory that launches may access. An address may have a tag (address_bits): a pointer with a
// tag reaches only memory that was added under that tag.
class Allocations {
 public:
  void add(const void* begin, std::size_t bytes);
  void remove(const void* begin);  // does nothing if no memory was added there
  void clear();
  // Returns the current ranges in ascending order. A launch checks accesses against this copy,
  // without a lock.
  [[nodiscard]] std::vector<Range> ranges() const;
  // Describes an address outside all allocations: "at byte 4256 of an allocation of 4096 bytes".
  [[nodiscard]] std::string describe(std::uint64_t address) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ends_;  // by begin
};

// A compiled kernel (compile.h) and its metadata.
struct Kernel {
  std::string name;  // for messages: "module.ptx"
  Translation facts;
  Entry entry = nullptr;
  std::shared_ptr<void> library;          // keeps `entry` loaded
  std::vector<std::string> source_files;  // Module::files
};

struct Launch {
  emulator::LaunchOptions options;  // `fault` is nullptr: faults are for our own kernels only
  emulator::Dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  const std::byte* parameters = nullptr;  // laid out as in Translation::parameters
  std::byte* module_memory = nullptr;     // laid out by module_memory()
  // nullptr: accesses to global memory are not checked.
  const Allocations* allocations = nullptr;
};

// Options that compiled code relies on: lanes in lockstep, barriers matched by id.
emulator::LaunchOptions compiled_options(emulator::Arch);

// Returns "" on success. Otherwise describes the failure of the first failed block (by index), with
// lines of the PTX and, if the PTX names them (-lineinfo), of the source.
std::string launch(const Kernel&, const Launch&);

// Appends the source location to each "module.ptx:LINE" in the text.
std::string with_source_lines(std::string text, const Kernel&);

}  // namespace plumbline::ptx
