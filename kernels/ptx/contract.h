// Which products and sums ptxas fuses (Options::contract).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "kernels/ptx/parse.h"

namespace plumbline::ptx {

// destination = a b + c; with `negate_c` a b - c, with `negate_a` c - a b.
struct Contraction {
  std::string destination, a, b, c;
  bool negate_a = false, negate_c = false, flush = false;
};

struct Contractions {
  std::map<std::size_t, Contraction> sums;  // by statement: instead of the sum
  std::set<std::size_t> products;           // statements that are left out
};

Contractions find_contractions(const Function&);

}  // namespace plumbline::ptx
