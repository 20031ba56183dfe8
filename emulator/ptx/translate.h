// PTX to C++: a function for one thread of a kernel, which a compiler of this machine makes into
// code for the emulator. Each instruction becomes the statement that does the same to raw bits;
// threads meet through translated/machine.h. An instruction that is not known becomes a failure
// that names its opcode and line when it is reached, and is listed.
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
  // What ptxas does with -fmad=true, its default: a product that only sums use becomes a part of
  // them (contract.h has the rule).
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

// Where the module's variables (.global, .const) lie in one block of memory, and what it holds
// before the first launch.
struct ModuleMemory {
  std::vector<std::byte> initial;
  std::map<std::string, std::size_t> offsets;
  // Those whose initial value is not known here (addresses of others), with their line.
  std::map<std::string, int> unknown;
};
ModuleMemory module_memory(const Module&);

struct Translation {
  std::string symbol;  // ptx::Entry (translated/machine.h), with C linkage
  std::string source;  // needs translated/thread.h
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t module_bytes = 0;  // of module_memory()
  // .maxntid or .reqntid, all dimensions multiplied, and .minnctapersm; 0: not said
  unsigned max_threads = 0, min_blocks = 0;
  int instructions = 0;
  int sites = 0;       // instructions that touch global memory
  int contracted = 0;  // sums that became an fma with a product
  // Made for a host that takes denormal numbers for zeros (flush.h, emulator::LaunchOptions).
  bool host_flushes = false;
  std::vector<Refusal> refused;
  // The .loc of each line that has one: file (of Module::files) and line of the source.
  std::map<int, std::pair<int, int>> source_lines;
};

// Where dynamic shared memory begins: behind the static, 16-byte aligned.
std::size_t dynamic_shared_offset(const Translation&);

// `entry` is one of the module's functions, with a body. An error is what makes the whole kernel
// unusable, such as a parameter of unknown type.
tl::expected<Translation, Error> translate(const Module&, const Function& entry, const Options&);

}  // namespace plumbline::ptx
