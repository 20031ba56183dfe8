// Plain attention in double precision, and how large a kernel's rounding error may be. Written
// apart from kernels and reference.
#pragma once

#include "tests/kernels/call.h"

namespace plumbline::testing {

// One row: output, LSE and what its rounding error scales with.
struct ExactRow {
  std::vector<double> out;          // [head_dim_vo]; zeros without keys
  double lse = 0;                   // -infinity without keys and sink
  std::vector<double> p_scale;      // sqrt(sum_k p_k^2 v_kj^2)
  std::vector<double> logit_scale;  // sqrt(sum_k p_k^2 s_k^2 (v_kj - o_j)^2)
  bool sees_nothing = false;
  double largest_logit = 0;  // in size, also of what it is a sum of
};

// Whether query row `row` sees `key`, from the definition of masks and windows, or by the
// geometry's mask bits.
bool sees(const Geometry& geometry, std::int64_t sample, std::int64_t row, std::int64_t key);

// `row` counts from the first valid row; rows outside the valid ones (q_values given) are allowed.
ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row, const std::vector<double>& q_values);
ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row);

// Standard deviation of the error of a kernel that rounds P, S and the output to dtypes with these
// unit roundoffs. 0.18 u^2 is the variance of the relative error of rounding (mean over mantissas).
struct Roundoffs {
  double p = 0;
  double s = 0;
};
double error_scale(const ExactRow& exact, std::size_t column, const Roundoffs& roundoffs,
                   DType out);

// Fails the test unless all valid rows lie within 8 standard deviations of the exact answer, plus
// what fp32 arithmetic adds, with rows that see no key exactly 0 and -infinity. What the kernel
// rounds is taken from its description.
void expect_exact(const std::string& kernel, const Problem& problem, const CallSetup& setup = {});
// The same for inputs that are there; of make_inputs where setup.stretch is not 1.
void expect_exact(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
                  const CallSetup& setup = {});

}  // namespace plumbline::testing
