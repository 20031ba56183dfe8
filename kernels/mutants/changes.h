// The kernels of the provider "mutants": the correct one, and variants with one change each.
//
// mutants.toml lists and explains them. CMake writes its names into the three macros of
// generated/mutant_names.h. A kernel runs the online softmax of online_softmax.cc with one Change,
// which the code checks at the place of its effect: `is(Change::mask_drops_tail)`. The word before
// the first underscore is the change's class.
#pragma once

#include <cstdint>

#include "generated/mutant_names.h"

namespace plumbline::mutants {

#define PLUMBLINE_ENUMERATOR(name) name,
enum class Change : std::uint32_t {
  PLUMBLINE_LEGAL(PLUMBLINE_ENUMERATOR) PLUMBLINE_MUTANT(PLUMBLINE_ENUMERATOR)
      PLUMBLINE_BREAKER(PLUMBLINE_ENUMERATOR)
};
#undef PLUMBLINE_ENUMERATOR

// Roundings of the operands. input: P to the dtype of Q, not rounded for fp32. tf32 (fp32 inputs):
// Q, K, V and P to tf32. e4m3 (16-bit inputs): P times 256 to e4m3.
enum class Mode { input, tf32, e4m3 };

struct NamedChange {
  const char* name;
  Change change;
};
#define PLUMBLINE_NAMED(name) {#name, Change::name},
inline constexpr NamedChange changes[] = {PLUMBLINE_LEGAL(PLUMBLINE_NAMED) PLUMBLINE_MUTANT(
    PLUMBLINE_NAMED) PLUMBLINE_BREAKER(PLUMBLINE_NAMED)};
#undef PLUMBLINE_NAMED

#define PLUMBLINE_ONE(name) +1
constexpr bool is_legal(Change change) {
  return static_cast<std::uint32_t>(change) < 0 PLUMBLINE_LEGAL(PLUMBLINE_ONE);
}
// Returns true for kernels that break an invariance.
constexpr bool is_breaker(Change change) {
  return static_cast<std::uint32_t>(change) >= 0 PLUMBLINE_LEGAL(PLUMBLINE_ONE)
                                                   PLUMBLINE_MUTANT(PLUMBLINE_ONE);
}
#undef PLUMBLINE_ONE
// Returns true for breakers and for legal_one_split, the kernel that they change. It makes one pass
// over a row's keys, in tiles from key 0, for every problem.
constexpr bool has_fixed_order(Change change) {
  return is_breaker(change) || change == Change::legal_one_split;
}

}  // namespace plumbline::mutants
