// The kernels of the provider "mutants": the correct one, and each single change of it.
//
// mutants.toml lists and explains them; from its names CMakeLists.txt writes the three macros of
// generated/mutant_names.h. A kernel runs the one generic online softmax (online_softmax.cc) with
// one Change, which the code asks for where it bites: `is(Change::mask_drops_tail)`. The words
// before the first underscore are the change's class; the others are its name.
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

// What the products take: P in the dtype of Q (fp32: not rounded); Q, K, V and P rounded to tf32
// (fp32 inputs); P in e4m3, times 256 (16-bit inputs).
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
// Breakers of invariances, and the kernel that they change: one pass over a row's keys in tiles
// from key 0, whatever else is asked.
constexpr bool is_breaker(Change change) {
  return static_cast<std::uint32_t>(change) >= 0 PLUMBLINE_LEGAL(PLUMBLINE_ONE)
                                                   PLUMBLINE_MUTANT(PLUMBLINE_ONE);
}
#undef PLUMBLINE_ONE
constexpr bool has_fixed_order(Change change) {
  return is_breaker(change) || change == Change::legal_one_split;
}

}  // namespace plumbline::mutants
