// Locates an error. Diagnosis only: no verdict depends on it.
//
// Each hypothesis is a direction d in the space of errors. A wrong softmax scale moves the output
// along sum_k p_k (s_k - mean s) v_k, with the mean weighted by p. A wrong weight of key k moves it
// along p_k (v_k - o), a wrong denominator along o. With errors and directions in units of sigma, a
// hypothesis explains z^2 = <e, d>^2 / <d, d> of the squared error, about 1 for a legal kernel. The
// true cause explains the most. If the best hypothesis is not a location, or is a scale or
// denominator that explains less than three quarters of the squared error, locate() tries heads,
// columns and rows. The result is then the first of these dimensions in which some indices are
// right and all others wrong.
//
// The best of m hypotheses is a location only if its |z| exceeds what errors without a location
// reach in one of 1000 outputs:
//
//   |z| > sqrt(2 ln(1000 m) rho max(1, (T - z^2) / N))
//
// T is the squared error of the N elements that the hypothesis is about, so (T - z^2) / N is the
// mean squared error that it leaves unexplained. rho is the variance of <e, d> / |d| if the errors
// of P, which the columns of a row share, are independent from key to key. With d in units of the
// output:
//
//   rho = sum over rows (lambda sum_k p_k^2 y_k^2 + sum_j (sigma_j^2 - spre_j^2) d_j^2 / sigma_j^4)
//         / sum over rows of sum_j d_j^2 / sigma_j^2
//   y_k = sum_j v_kj d_j / sigma_j^2        lambda = sum_j spre_j^2 / sum_jk p_k^2 v_kj^2
//
// rho is 1 for many keys, and up to head_dim_vo if one key has all the weight. (The logarithm
// follows from Prob(|x| > t) <= exp(-t^2 / 2) for a standard normal x.)
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
// Returns no location if only a row output such as the LSE, or a row without a reference, is beyond
// its limit. Examines rows that cost about 2e8 multiply-adds at most, the largest errors first.
Location locate(const LocateInputs& inputs);

}  // namespace plumbline
