// Small problems of every mask, layout and dtype, and the specs for their comparison with quad
// precision.
#pragma once

#include <string>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

std::vector<Problem> quad_problems();
// Relative tolerance of o and the LSE against quad precision. The logits of law extreme are near
// 13,000, where half an ulp of fp64 is 1e-12.
inline double fp64_tolerance(const Problem& problem) {
  return problem.law == Law::extreme ? 1e-12 : 1e-13;
}

struct NamedSpec {
  std::string name;
  RoundingSpec spec;
};
std::vector<NamedSpec> quad_specs(const Problem& problem);

// A problem and a spec whose roundings show only in this combination.
struct QuadPair {
  std::string name;
  Problem problem;
  RoundingSpec spec;
};
std::vector<QuadPair> quad_pairs();

}  // namespace plumbline
