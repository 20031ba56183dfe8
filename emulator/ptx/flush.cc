// Checks if each instruction computes the same bits in the processor's flush mode.
#include "emulator/ptx/flush.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "emulator/machine/denormals.h"
#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns true if the conversion gives the same bits in the processor's flush mode. With .ftz it
// flushes in software. Without .ftz, the accepted conversions are exact or not affected.
bool conversion_is_alike(const Statement& s) {
  const std::string_view from = s.parts.back(), to = s.parts[s.parts.size() - 2];
  if (from == "f64" || to == "f64" || from == "bf16") return false;
  // Integers are converted to bf16 through fp64 and fp32.
  if (to == "bf16" && from != "f32") return false;
  // Flushing changes the floor or ceiling of a denormal number.
  return has(s.parts, "ftz") || !(has(s.parts, "rmi") || has(s.parts, "rpi"));
}

// Returns true if the statement computes the same bits in the processor's flush mode.
bool is_alike(const Statement& s) {
  // `moves` and `flushing` name only opcodes of floating-point instructions. A missing name is
  // safe: the kernel then flushes in software, which is slower.
  // `moves`: instructions that move bits or that the emulator computes with integers.
  static constexpr std::array<std::string_view, 14> moves{
      "mov", "ld",  "ldu", "st",  "selp", "slct",     "neg",
      "abs", "mma", "sin", "cos", "tanh", "copysign", "testp"};
  static constexpr std::array<std::string_view, 14> flushing{"add", "sub",   "mul", "fma",  "mad",
                                                             "div", "min",   "max", "setp", "sqrt",
                                                             "rcp", "rsqrt", "ex2", "lg2"};
  static constexpr std::array<std::string_view, 4> floating{"f32", "f64", "bf16", "bf16x2"};
  const bool computes = std::any_of(s.parts.begin(), s.parts.end(), [](const std::string& part) {
    return is_one_of(part, floating);
  });
  const std::string_view name = s.parts.front();
  if (!computes || is_one_of(name, moves)) return true;
  if (name == "cvt") return conversion_is_alike(s);
  // fma.rm consists of sums in fp64
  return is_one_of(name, flushing) && s.parts.back() == "f32" && has(s.parts, "ftz") &&
         !has(s.parts, "rm");
}

}  // namespace

bool host_flushes(const Function& kernel) {
  if (!emulator::Denormals::can_flush) return false;
  bool flushes = false;
  for (const Statement& s : kernel.body) {
    if (s.kind != Statement::Kind::instruction) continue;
    if (!is_alike(s)) return false;
    flushes = flushes || has(s.parts, "ftz");
  }
  return flushes;
}

}  // namespace plumbline::ptx
