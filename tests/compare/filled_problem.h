// A problem with its inputs and its exact outputs, for tests that plant one fault.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/problem/inputs.h"
#include "harness/reference/reference.h"

namespace plumbline::test {

struct FilledProblem {
  explicit FilledProblem(const Problem& problem)
      : geometry(problem),
        spec(strict_spec(problem)),
        q(geometry.q.bytes()),
        k(geometry.k.bytes()),
        v(geometry.v.bytes()),
        out(geometry.out.bytes(), std::byte{0xFF}),
        lse(geometry.lse.bytes(), std::byte{0xFF}) {
    fill_inputs(geometry, q.data(), k.data(), v.data());
    reference = compute_reference(geometry, inputs(), spec, select_rows(geometry, 1e12));
    write_exact();
  }

  InputView inputs() const { return {q.data(), k.data(), v.data()}; }
  OutputView outputs() const { return {out.data(), lse.data(), 0}; }

  void set(const RowId& row, std::int64_t column, double value) {
    const auto dtype = geometry.problem().out();
    const auto rounded = static_cast<float>(round_to(value, dtype));
    const auto offset =
        static_cast<std::size_t>(geometry.out_offset(row.sample, row.row, row.head) + column);
    encode(dtype, {&rounded, 1}, out.data() + offset * size_in_bytes(dtype));
  }
  void set_lse(const RowId& row, double value) {
    const auto rounded = static_cast<float>(value);
    std::memcpy(
        lse.data() +
            static_cast<std::size_t>(geometry.lse_offset(row.sample, row.row, row.head)) * 4,
        &rounded, 4);
  }
  double expected(std::size_t row, std::size_t column) const {
    return reference.o[row * static_cast<std::size_t>(reference.columns) + column];
  }

  // Writes the fp64 result rounded to the output dtype; padded rows are zero.
  void write_exact() {
    if (geometry.problem().is_padded()) std::fill(out.begin(), out.end(), std::byte{0});
    for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
      for (std::int64_t j = 0; j < reference.columns; ++j)
        set(reference.selection.rows[r], j, expected(r, static_cast<std::size_t>(j)));
      set_lse(reference.selection.rows[r], reference.lse[r]);
    }
  }

  Geometry geometry;
  RoundingSpec spec;
  std::vector<std::byte> q, k, v, out, lse;
  Reference reference;
};

inline Problem small_problem() {
  Problem problem;
  problem.dtype = DType::f16;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 6;
  problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  return problem;
}

}  // namespace plumbline::test
