// Which products and sums ptxas fuses (Options::contract), as far as its choice is known:
//   - A mul and an add or sub of fp32, none with a rounding of its own (.rn), all flushing or none.
//     The sum may be in another block of code than the product, have a guard and saturate.
//   - Every use of the product is such a sum, its neg and copies read through. With several, each
//     sum computes it anew, and the mul is gone.
//   - Sums choose in the order of the text. Of two products the one with fewer sums left is fused,
//     of equals the first; the other one, needed as it is, is fused in no later sum.
// tests/ptx/test_contract.cc has the small kernels that this was read from (ptxas 13.0, sm_80), and
// evidence/ptxas_counts.py compares counts with ptxas.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {

// destination = a b + c; with `negate_c` a b - c, with `negate_a` c - a b.
struct Contraction {
  std::string destination, a, b, c;
  bool negate_a = false, negate_c = false, flush = false, saturate = false;
};

struct Contractions {
  std::map<std::size_t, Contraction> sums;  // by statement: instead of the sum
  std::set<std::size_t> products;           // statements that are left out, with copies and neg
};

Contractions find_contractions(const Function&);

// Instructions on fp32 numbers, in the text and not as often as they run; mad is an fma and sub an
// add. What an approximate division or exponential becomes is not taken apart. Functions of the
// module that are called count, too, each once.
struct FloatCounts {
  int fma = 0, add = 0, mul = 0;
  int plus_zero = 0;   // sums with a literal zero, which only flush: not counted in `add`
  int contracted = 0;  // of the fma: a product and a sum of the PTX
};
FloatCounts count_floats(const Module&, const Function& entry, bool contract);

}  // namespace plumbline::ptx
