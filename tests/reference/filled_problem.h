// A problem with its inputs, for tests of the reference.
#pragma once

#include <limits>
#include <vector>

#include "harness/problem/inputs.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct FilledProblem {
  explicit FilledProblem(const Problem& problem)
      : geometry(problem), q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes()) {
    fill_inputs(geometry, q.data(), k.data(), v.data());
  }
  InputView view() const { return {q.data(), k.data(), v.data()}; }
  RowSelection all_rows() const {
    return select_rows(geometry, std::numeric_limits<double>::infinity());
  }

  Geometry geometry;
  std::vector<unsigned char> q, k, v;
};

}  // namespace plumbline
