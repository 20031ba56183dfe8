// Fills inputs by a suite's distributions, and compares two outputs bitwise.
#pragma once

#include <algorithm>
#include <bit>

#include "harness/problem/inputs.h"
#include "tests/kernels/call.h"

namespace plumbline::testing {

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}
inline bool same_bits(const Answer& a, const Answer& b) {
  return a.status == b.status && same_bits(a.out, b.out) && same_bits(a.lse, b.lse) &&
         same_bits(a.padded_out, b.padded_out) && same_bits(a.padded_lse, b.padded_lse);
}

struct Filled {
  explicit Filled(const Problem& problem) : geometry(problem) {
    inputs.q.resize(geometry.q.bytes());
    inputs.k.resize(geometry.k.bytes());
    inputs.v.resize(geometry.v.bytes());
    fill_inputs(geometry, inputs.q.data(), inputs.k.data(), inputs.v.data());
    inputs.side = side_inputs(problem);
  }
  Geometry geometry;
  Inputs inputs;
};

}  // namespace plumbline::testing
