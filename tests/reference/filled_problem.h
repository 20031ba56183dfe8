// A problem with its inputs, for tests of the reference.
#pragma once

#include <cstdint>
#include <functional>
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

// Replaces all elements of a tensor whose rows, counted as in memory, have `dims` elements.
inline void set_elements(std::vector<unsigned char>& tensor, DType dtype, std::int64_t dims,
                         const std::function<float(std::int64_t row, std::int64_t d)>& element) {
  std::vector<float> values(tensor.size() / size_in_bytes(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    values[i] = element(at / dims, at % dims);
  }
  encode(dtype, values, tensor.data());
}

}  // namespace plumbline
