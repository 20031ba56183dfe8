// Small problems of every mask, layout and dtype, and the specs under which they are checked against the quad-precision version.
#pragma once

#include <string>
#include <vector>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

std::vector<Problem> quad_problems();

struct NamedSpec {
  std::string name;
  RoundingSpec spec;
};
std::vector<NamedSpec> quad_specs(const Problem& problem);

}  // namespace plumbline
