// Where a fault sits: diagnosis only, never a verdict.
//
// Each hypothesis is a direction d in the space of errors (a wrong softmax scale moves the output
// along G, a wrong weight of key k along p_k (v_k - o), a wrong denominator along o). With errors
// and directions in units of sigma, the energy a hypothesis explains is z^2 = <e, d>^2 / <d, d>,
// about 1 for a legal kernel; the true cause explains the most. Where a scale or denominator is the
// best and explains less than three quarters, and some heads (or columns, or rows) are right and
// all others wrong, that dimension is named.
//
// The best of m hypotheses is a location only if errors without a place would reach its |z| once in
// a thousand outputs:
//
//   |z| > sqrt(2 ln(1000 m) rho max(1, (T - z^2) / N))
//
// T is the squared error of the N elements that the hypothesis is about, so that the last factor is
// what it leaves of it. rho is the variance of <e, d> / |d| where the errors of P, which a row's
// columns share, are independent from key to key:
//
//   rho = sum over rows (lambda sum_k p_k^2 y_k^2 + sum_j (sigma_j^2 - spre_j^2) d_j^2 / sigma_j^4)
//         / sum over rows of sum_j d_j^2 / sigma_j^2
//   y_k = sum_j v_kj d_j / sigma_j^2        lambda = sum_j spre_j^2 / sum_jk p_k^2 v_kj^2
//
// It is 1 where keys are many, and up to head_dim_vo where one key has all weight. (P(|z| > t) of a
// normal variable is at most exp(-t^2 / 2) for each hypothesis.)
#pragma once

#include "harness/compare/statistics.h"
#include "harness/outcome/faults.h"

namespace plumbline {

struct LocateInputs {
  const Geometry* geometry = nullptr;
  InputView inputs;
  const RoundingSpec* spec = nullptr;
  const Reference* reference = nullptr;
  const Comparison* comparison = nullptr;
  Limits limits;
};
// Where only the LSE, or a row without a reference, is beyond its limit, there is no location.
// Looks at no more rows than cost about 2e8 multiply-adds; the rows with the largest errors first.
Location locate(const LocateInputs& inputs);

}  // namespace plumbline
