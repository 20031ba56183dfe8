// Plain attention in double precision, and the expected size of a kernel's rounding error.
// Independent of the kernels and the reference.
#pragma once

#include "tests/kernels/call.h"

namespace plumbline::testing {

// One row: output, LSE and the scales of its rounding error.
struct ExactRow {
  std::vector<double> out;          // [head_dim_vo]; zeros without keys
  double lse = 0;                   // -infinity without keys and sink
  std::vector<double> p_scale;      // sqrt(sum_k p_k^2 v_kj^2)
  std::vector<double> logit_scale;  // sqrt(sum_k p_k^2 s_k^2 (v_kj - o_j)^2)
  bool sees_nothing = false;
  double largest_logit = 0;  // absolute value, before or after softcap and ALiBi
};

// Returns true if query row `row` sees `key`, by the definition of masks and windows or by the
// geometry's mask bits.
bool sees(const Geometry& geometry, std::int64_t sample, std::int64_t row, std::int64_t key);

// Computes a row. `row` counts from the first valid one; with q_values, rows outside of the valid
// ones are allowed.
ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row, const std::vector<double>& q_values);
ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row);

// Returns the standard deviation of the error of a kernel that rounds P, S and the output to dtypes
// with these unit roundoffs. 0.18 u^2 is the variance of the relative error of rounding (mean over
// mantissas).
struct Roundoffs {
  double p = 0;
  double s = 0;
};
double error_scale(const ExactRow& exact, std::size_t column, const Roundoffs& roundoffs,
                   DType out);

// Fails the test unless all valid rows are within 8 standard deviations of the exact result, plus
// the error of fp32 arithmetic. Rows that see no key must be exactly 0 and -infinity. The kernel's
// description says what it rounds.
void expect_exact(const std::string& kernel, const Problem& problem, const CallSetup& setup = {});
// The overload for given inputs; if setup.stretch is not 1, they must be those of make_inputs.
void expect_exact(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
                  const CallSetup& setup = {});

}  // namespace plumbline::testing
