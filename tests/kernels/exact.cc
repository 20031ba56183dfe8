#include "tests/kernels/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumbline::testing {

bool sees(const Problem& problem, std::int64_t length_q, std::int64_t length_kv, std::int64_t row, std::int64_t key) {
  const std::int64_t diagonal = problem.mask == Mask::causal_top_left ? row : row + (length_kv - length_q);
  if (problem.mask != Mask::none && key > diagonal) return false;
  if (problem.window_left >= 0 && key < diagonal - problem.window_left) return false;
  return !(problem.mask == Mask::none && problem.window_right >= 0 && key > diagonal + problem.window_right);
}

ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample, std::int64_t head, std::int64_t row) {
  const Problem& problem = geometry.problem();
  std::vector<double> q;
  for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) {
    q.push_back(decode_at(problem.dtype, inputs.q.data(), static_cast<std::size_t>(geometry.q_offset(sample, row, head) + d)));
  }
  return exact_row(geometry, inputs, sample, head, row, q);
}

ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample, std::int64_t head, std::int64_t row,
                   const std::vector<double>& q) {
  const Problem& problem = geometry.problem();
  const std::int64_t head_kv = head / problem.group();
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  std::vector<double> logits;  // of the visible keys
  std::vector<double> v;       // [visible keys, columns]
  for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
    if (!sees(problem, geometry.length_q(sample), geometry.length_kv(sample), row, key)) continue;
    double dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      dot += q[d] * decode_at(problem.kv(), inputs.k.data(), static_cast<std::size_t>(geometry.k_offset(sample, key, head_kv)) + d);
    }
    logits.push_back(dot * problem.softmax_scale());
    const auto v_offset = static_cast<std::size_t>(geometry.v_offset(sample, key, head_kv));
    for (std::size_t j = 0; j < columns; ++j) v.push_back(decode_at(problem.kv(), inputs.v.data(), v_offset + j));
  }

  ExactRow exact;
  exact.out.assign(columns, 0.0);
  exact.p_scale.assign(columns, 0.0);
  exact.logit_scale.assign(columns, 0.0);
  exact.lse = -std::numeric_limits<double>::infinity();
  if (logits.empty()) return exact;

  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double s : logits) sum += std::exp(s - largest), exact.largest_logit = std::max(exact.largest_logit, std::abs(s));
  exact.lse = largest + std::log(sum);
  std::vector<double> p;
  for (const double s : logits) p.push_back(std::exp(s - exact.lse));
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) exact.out[j] += p[i] * v[i * columns + j];
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      exact.p_scale[j] += std::pow(p[i] * v[i * columns + j], 2);
      exact.logit_scale[j] += std::pow(p[i] * logits[i] * (v[i * columns + j] - exact.out[j]), 2);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) {
    exact.p_scale[j] = std::sqrt(exact.p_scale[j]);
    exact.logit_scale[j] = std::sqrt(exact.logit_scale[j]);
  }
  return exact;
}

double error_scale(const ExactRow& exact, std::size_t column, const Roundoffs& roundoffs, DType out) {
  constexpr double kappa = 0.18;
  const double p = roundoffs.p * exact.p_scale[column];
  const double s = 2 * roundoffs.s * exact.logit_scale[column];
  const double output = ulp(exact.out[column], out);
  return std::sqrt(kappa * (p * p + s * s) + output * output / 12);
}

}  // namespace plumbline::testing
