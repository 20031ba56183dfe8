// Translates PTX to C++: one function per kernel, for one thread. This machine's compiler compiles
// the function for the emulator. Each instruction becomes a statement on raw bits; threads
// communicate through translated/machine.h. An unknown instruction is listed in `refused`;
// executing it fails with its opcode and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {

struct Options {
  // Fuses a product into the sums that use it, if nothing else uses the product. ptxas does this by
  // default (-fmad=true). The rule is in contraction.h.
  bool contract = true;
};

struct Refusal {
  int line = 0;
  std::string opcode, reason;
};

struct Parameter {
  std::string name;
  std::size_t offset = 0, bytes = 0;
};

// The layout of the module's variables (.global, .const) in one block of memory, and its content
// before the first launch.
struct ModuleMemory {
  std::vector<std::byte> initial;
  std::map<std::string, std::size_t> offsets;
  // Variables whose initial value is not known here (addresses of other variables), by name, with
  // their line.
  std::map<std::string, int> unknown;
};
ModuleMemory module_memory(const Module&);

struct Translation {
  std::string symbol;  // ptx::Entry (translated/machine.h), with C linkage
  std::string source;  // needs translated/thread.h
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t module_bytes = 0;  // bytes of module_memory()
  // .maxntid or .reqntid, all dimensions multiplied, and .minnctapersm; 0: not given
  unsigned max_threads = 0, min_blocks = 0;
  int instructions = 0;
  int sites = 0;       // instructions that touch global memory
  int contracted = 0;  // sums that were fused with a product
  // Translated for a host that flushes denormal numbers (flush.h, emulator::LaunchOptions).
  bool host_flushes = false;
  std::vector<Refusal> refused;
  // For each PTX line with a .loc: index into Module::files, and line of that file.
  std::map<int, std::pair<int, int>> source_lines;
};

// Returns where dynamic shared memory begins: after the static memory, 16-byte aligned.
std::size_t dynamic_shared_offset(const Translation&);

// Translates `entry`, a function of the module with a body. Returns an error if the whole kernel is
// unusable, for example because of a parameter of unknown type.
tl::expected<Translation, Error> translate(const Module&, const Function& entry, const Options&);

}  // namespace plumbline::ptx
