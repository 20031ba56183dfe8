// The products and sums that ptxas fuses (Options::contract), as far as its choice is known:
//  - A mul and an add or sub of fp32 without explicit rounding (.rn), all or none with .ftz. The
//    sum may be in another basic block than the product, have a guard and saturate.
//  - Every use of the product is such a sum, also through neg and copies. If there are several,
//    each sum computes the product again and the mul is removed.
//  - Sums choose in the order of the text. A sum of two products fuses the one with fewer remaining
//    sums, or the left one if they have equally many. The other product is still needed, so no
//    later sum fuses it.
// The rules come from the small kernels in tests/ptx/test_contraction.cc (ptxas 13.0, sm_80).
// evidence/ptxas_counts.py compares counts with ptxas.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {

// destination = a b + c. With `negate_c` it is a b - c, with `negate_a` c - a b.
struct Contraction {
  std::string destination, a, b, c;
  bool negate_a = false, negate_c = false, flush = false, saturate = false;
};

struct Contractions {
  std::map<std::size_t, Contraction> sums;  // by statement: replaces the sum
  std::set<std::size_t> products;           // statements to omit, including copies and neg
};

Contractions find_contractions(const Function&);

// Numbers of fp32 instructions in the text, not executions; mad counts as fma and sub as add.
// Approximate divisions and exponentials are not expanded. Called functions of the module count
// once each.
struct FloatCounts {
  int fma = 0, add = 0, mul = 0;
  int plus_zero = 0;   // sums with a literal zero, which only flush; not in `add`
  int contracted = 0;  // those fma that were a product and a sum in the PTX
};
FloatCounts count_floats(const Module&, const Function& entry, bool contract);

}  // namespace plumbline::ptx
