// Parses PTX into statements with line numbers, without interpreting them.
//
// Accepts PTX ISA 8.x as nvcc, clang and Triton write it: one module of directives, variables,
// entries and functions. Returns a syntax error with its line number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline::ptx {

struct Error {
  int line = 0;  // in the PTX, counted from 1
  std::string text;
};

enum class Space { reg, param, shared, local, global, constant };

// `.shared .align 16 .b8 tile[4096];`, `.reg .b32 %r<17>;`, `.param .u64 out`
struct Variable {
  Space space{};
  std::string type;  // "b32", without the dot; for a vector, the type of an element
  int vector = 1;    // .v2, .v4
  std::string name;  // without "<17>"
  // Number of elements. Registers have 1, or the number in `<17>`. An extern array of unknown size
  // has 0.
  std::uint64_t count = 1;
  std::uint64_t align = 0;           // bytes; 0: not given
  bool numbered = false;             // %r<17>: %r0 to %r16
  bool external = false;             // .extern
  std::vector<std::string> initial;  // initializer, by element; empty: none
  int line = 0;
};

struct Statement {
  enum class Kind { instruction, label, open, close, variable, location };
  Kind kind{};
  int line = 0;
  // instruction: @!%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8];
  std::string guard;  // "%p1"; empty: none
  bool guard_negated = false;
  std::string opcode;                 // "ld.global.v2.b32"
  std::vector<std::string> parts;     // "ld", "global", "v2", "b32"
  std::vector<std::string> operands;  // "{%r1,%r2}", "[%rd1+8]": without spaces
  std::string label;
  Variable variable;
  // location: .loc file line
  int file = 0, source_line = 0;
};

struct Function {
  bool entry = false;
  bool external = false;  // only declared, without a body
  std::string name;
  int line = 0;
  std::vector<Variable> parameters;
  std::vector<Variable> results;  // of .func
  std::vector<Statement> body;    // without the outer braces
  // .maxntid, .reqntid, .minnctapersm; 0: not given
  unsigned max_threads = 0, required_threads = 0, min_blocks = 0;
};

struct Module {
  std::string version, target;  // "8.4", "sm_80"
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> files;  // names of .file by number; empty if no .file has the number
};

tl::expected<Module, Error> parse(std::string_view text);
// Returns only the version and the target from the start of the text; empty if missing there.
Module parse_head(std::string_view text);

// Returns the size of a type in bytes: "f32" 4, "b128" 16, "pred" 0; -1 for an unknown type.
int bytes_of(std::string_view type);
std::uint64_t bytes_of(const Variable&);
std::uint64_t alignment_of(const Variable&);

}  // namespace plumbline::ptx
