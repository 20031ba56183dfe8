// The kernels of the provider "merge_mutants": the correct merge of states, and variants with one
// change each. plumbline_merge_mutants.toml explains them; CMake writes its names into
// generated/merge_mutant_names.h.
#pragma once

#include <cstdint>

#include "generated/merge_mutant_names.h"

namespace plumbline::merge_mutants {

#define PLUMBLINE_ENUMERATOR(name) name,
enum class Change : std::uint32_t {
  PLUMBLINE_LEGAL(PLUMBLINE_ENUMERATOR) PLUMBLINE_MUTANT(PLUMBLINE_ENUMERATOR)
};
#undef PLUMBLINE_ENUMERATOR

struct NamedChange {
  const char* name;
  Change change;
};
#define PLUMBLINE_NAMED(name) {#name, Change::name},
inline constexpr NamedChange changes[] = {PLUMBLINE_LEGAL(PLUMBLINE_NAMED)
                                              PLUMBLINE_MUTANT(PLUMBLINE_NAMED)};
#undef PLUMBLINE_NAMED

}  // namespace plumbline::merge_mutants
