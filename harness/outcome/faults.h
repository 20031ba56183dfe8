// Faults of an output that need no limit, and the location of its error.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

// Faults that need no limit. All but `inexact` are counted over all rows, even if the reference
// samples rows.
struct Faults {
  std::int64_t nan = 0;           // NaN where the reference is finite
  std::int64_t inf = 0;           // Inf where the reference is finite
  std::int64_t unwritten = 0;     // still poison (every bit set)
  std::int64_t out_of_range = 0;  // outside the range of the key head's V, beyond rounding
  std::int64_t padded_rows = 0;   // elements of padded rows that violate the padding policy
  // in rows without a visible key: elements other than 0, and wrong row outputs (outputs.h)
  std::int64_t empty_rows = 0;
  // elements that differ from the reference although the inputs demand equality
  std::int64_t inexact = 0;
  std::int64_t fence_bytes = 0;  // changed guard bytes of outputs, plus 1 if the workspace has any
  std::string detail;            // the first fault in words, with its element
  std::int64_t total() const;
};

struct FaultKind {
  const char* column;  // in the database
  std::int64_t Faults::*count;
  std::string_view name;  // in findings
  std::string_view what;  // in words, after the count
  // in JSON: "nan"
  constexpr std::string_view key() const {
    return std::string_view(column).substr(std::string_view("faults_").size());
  }
};
// All kinds of faults, in the order in which they are reported.
inline constexpr std::array fault_kinds{
    FaultKind{"faults_nan", &Faults::nan, "nan", "NaN where the reference is finite"},
    FaultKind{"faults_inf", &Faults::inf, "inf", "infinities where the reference is finite"},
    FaultKind{"faults_unwritten", &Faults::unwritten, "unwritten", "elements never written"},
    FaultKind{"faults_out_of_range", &Faults::out_of_range, "out_of_range",
              "elements outside the range of the values they average"},
    FaultKind{"faults_padded_rows", &Faults::padded_rows, "padded_rows",
              "elements of padded rows against the padding policy"},
    FaultKind{"faults_empty_rows", &Faults::empty_rows, "empty_rows",
              "nonzero elements or wrong row outputs, such as LSEs, in rows without visible keys"},
    FaultKind{"faults_inexact", &Faults::inexact, "inexact",
              "elements that differ from the reference where the inputs demand equality"},
    FaultKind{"faults_fence_bytes", &Faults::fence_bytes, "fence",
              "bytes changed around out, lse or workspace"},
};

inline std::int64_t Faults::total() const {
  std::int64_t sum = 0;
  for (const FaultKind& kind : fault_kinds) sum += this->*kind.count;
  return sum;
}

// The location of an error, for diagnosis only (diagnose/locate.h finds it). A failure without a
// location has the kind none and a description: "no location", and why. An output without faults
// and within its limits has the kind none and no description.
enum class LocationKind { none, head, row, column, key, edge, scale, denominator };
template <>
inline constexpr std::array<std::string_view, 8> names_of<LocationKind>{
    "", "head", "row", "column", "key", "edge", "scale", "denominator"};

struct Location {
  LocationKind kind = LocationKind::none;
  std::string description = {};  // "edge: the last visible key weighs too little (z = 57)"
  double z = 0;
  // For the cause; not stored.
  std::string text = {};  // "the last visible key weighs too little"
  double share = 1;  // explained share of the squared error beyond rounding
};

}  // namespace plumbline
