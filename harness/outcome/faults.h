// What is wrong with an output without any limit, and where its error sits.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// Faults that need no limit. Counts over all elements, also where the reference samples rows.
struct Faults {
  std::int64_t nan = 0;           // NaN where the reference is finite
  std::int64_t inf = 0;           // Inf where the reference is finite
  std::int64_t unwritten = 0;     // still poison (every bit set)
  std::int64_t out_of_range = 0;  // outside the range of the key head's v, plus its rounding
  std::int64_t padded_rows = 0;   // padded rows against the policy (elements)
  // of rows without a visible key: not exactly 0, or an LSE that is not -inf or the sink
  std::int64_t empty_rows = 0;
  std::int64_t inexact = 0;      // elements != reference where the law demands equality
  std::int64_t fence_bytes = 0;  // changed bytes around out, lse or workspace
  std::string detail;            // first of them in words, with the element
  std::int64_t total() const {
    return nan + inf + unwritten + out_of_range + padded_rows + empty_rows + inexact + fence_bytes;
  }
};

// Where a fault sits: diagnosis only. The strongest of the structure statistics.
struct Location {
  std::string kind;         // "head", "row", "column", "key", "edge", "scale", "denominator" or ""
  std::string description;  // "edge: the last visible key weighs too little (z = 57)"
  double z = 0;
};

}  // namespace plumbline
