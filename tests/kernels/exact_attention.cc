// Computes rows in double precision, and compares a kernel's outputs with them.
#include "tests/kernels/exact_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumbline::testing {
namespace {

Roundoffs roundoffs_of(const plumbline_rounding_spec& spec) {
  Roundoffs roundoffs;
  roundoffs.p = unit_roundoff(static_cast<DType>(spec.p_dtype));
  if (spec.split_partial_dtype != PLUMBLINE_F32) roundoffs.p *= 2;
  if (spec.s_rounded != PLUMBLINE_DTYPE_NONE)
    roundoffs.s = unit_roundoff(static_cast<DType>(spec.s_rounded));
  return roundoffs;
}

// The differences between a kernel's outputs and the exact ones. Prints the first few.
class Comparison {
 public:
  Comparison(const Geometry& geometry, const Answer& answer)
      : problem_(geometry.problem()),
        index_(geometry),
        answer_(answer),
        roundoffs_(roundoffs_of(answer.description.spec)) {}

  void row(std::int64_t sample, std::int64_t head, std::int64_t row, const ExactRow& exact) {
    const std::size_t at = index_.row(sample, head, row);
    const std::string where = "sample " + std::to_string(sample) + " head " + std::to_string(head) +
                              " row " + std::to_string(row);
    const bool empty = exact.sees_nothing;
    for (std::size_t j = 0; j < exact.out.size(); ++j) {
      const double fp32 = 2e-6 * (1 + exact.largest_logit) * exact.p_scale[j];
      const double limit = empty ? 0 : 8 * error_scale(exact, j, roundoffs_, problem_.out()) + fp32;
      compare(answer_.out[at * exact.out.size() + j], exact.out[j], limit,
              where + " column " + std::to_string(j));
    }
    if (!problem_.lse) return;
    const bool rounded_sum = answer_.description.spec.denominator_from_rounded_p != 0;
    const double limit = 2e-6 * (4 + exact.largest_logit) + 2 * roundoffs_.s * exact.largest_logit +
                         (rounded_sum ? roundoffs_.p : 0);
    const double to_natural = answer_.description.spec.lse_base == 2 ? std::log(2.0) : 1;
    compare(answer_.lse[at] * to_natural, exact.lse, limit, where + " LSE");
  }
  int differences() const { return differences_; }

 private:
  void compare(double got, double exact, double limit, const std::string& where) {
    if (got == exact || std::abs(got - exact) <= limit) return;
    if (++differences_ < 4)
      ADD_FAILURE() << where << ": " << got << " for " << exact << ", limit " << limit;
  }

  const Problem& problem_;
  const RowIndex index_;
  const Answer& answer_;
  const Roundoffs roundoffs_;
  int differences_ = 0;
};

}  // namespace

bool sees(const Geometry& geometry, std::int64_t sample, std::int64_t row, std::int64_t key) {
  const Problem& problem = geometry.problem();
  if (problem.has_mask_bits()) {
    const std::int64_t word = (sample * problem.seq_q + row) * geometry.mask_words + key / 32;
    return (geometry.mask_bits[static_cast<std::size_t>(word)] >> (key % 32) & 1U) != 0;
  }
  const std::int64_t diagonal =
      problem.mask == Mask::causal_top_left
          ? row
          : row + (geometry.length_kv(sample) - geometry.length_q(sample));
  if (problem.mask != Mask::none && key > diagonal) return false;
  if (problem.window_left >= 0 && key < diagonal - problem.window_left) return false;
  return !(problem.mask == Mask::none && problem.window_right >= 0 &&
           key > diagonal + problem.window_right);
}

ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row) {
  const Problem& problem = geometry.problem();
  std::vector<double> q;
  const std::vector<float>& scales = inputs.side.q_scale;
  const double scale =
      scales.empty() ? 1.0 : double{scales[q_scale_at(problem, sample, row, head)]};
  for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) {
    q.push_back(scale *
                decode_at(problem.dtype, inputs.q.data(),
                          static_cast<std::size_t>(geometry.q_offset(sample, row, head) + d)));
  }
  return exact_row(geometry, inputs, sample, head, row, q);
}

ExactRow exact_row(const Geometry& geometry, const Inputs& inputs, std::int64_t sample,
                   std::int64_t head, std::int64_t row, const std::vector<double>& q) {
  const Problem& problem = geometry.problem();
  const std::int64_t head_kv = head / problem.group();
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  const auto scale_at = [&](const std::vector<float>& scales, std::int64_t key) {
    return scales.empty() ? 1.0 : double{scales[kv_scale_at(problem, sample, key, head_kv)]};
  };
  ExactRow exact;
  std::vector<double> logits;  // of the visible keys
  std::vector<double> v;       // [visible keys, columns]
  for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
    if (!sees(geometry, sample, row, key)) continue;
    double dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      dot +=
          q[d] * decode_at(problem.kv(), inputs.k.data(),
                           static_cast<std::size_t>(geometry.k_offset(sample, key, head_kv)) + d);
    }
    double logit = dot * scale_at(inputs.side.k_scale, key) * problem.softmax_scale();
    exact.largest_logit = std::max(exact.largest_logit, std::abs(logit));
    if (problem.softcap != 0) logit = problem.softcap * std::tanh(logit / problem.softcap);
    if (!inputs.side.alibi_slopes.empty()) {
      const double distance = std::abs(
          static_cast<double>(row + geometry.length_kv(sample) - geometry.length_q(sample) - key));
      logit -= distance * inputs.side.alibi_slopes[static_cast<std::size_t>(head)];
    }
    exact.largest_logit = std::max(exact.largest_logit, std::abs(logit));
    logits.push_back(logit);
    const auto v_offset = static_cast<std::size_t>(geometry.v_offset(sample, key, head_kv));
    const double v_scale = scale_at(inputs.side.v_scale, key);
    for (std::size_t j = 0; j < columns; ++j)
      v.push_back(v_scale * decode_at(problem.kv(), inputs.v.data(), v_offset + j));
  }

  exact.out.assign(columns, 0.0);
  exact.p_scale.assign(columns, 0.0);
  exact.logit_scale.assign(columns, 0.0);
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  const double sink = inputs.side.sinks.empty() ? minus_infinity
                                                : inputs.side.sinks[static_cast<std::size_t>(head)];
  exact.lse = sink;
  exact.sees_nothing = logits.empty();
  if (logits.empty()) return exact;

  const double largest = std::max(sink, *std::max_element(logits.begin(), logits.end()));
  double sum = std::exp(sink - largest);
  for (const double s : logits) sum += std::exp(s - largest);
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

double error_scale(const ExactRow& exact, std::size_t column, const Roundoffs& roundoffs,
                   DType out) {
  constexpr double kappa = 0.18;
  const double p = roundoffs.p * exact.p_scale[column];
  const double s = 2 * roundoffs.s * exact.logit_scale[column];
  const double output = ulp(exact.out[column], out);
  return std::sqrt(kappa * (p * p + s * s) + output * output / 12);
}

void expect_exact(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
                  const CallSetup& setup) {
  const Problem& problem = geometry.problem();
  // A stretched call makes its own copy of the same inputs.
  const Answer answer =
      setup.stretch == 1 ? call(kernel, geometry, inputs, setup) : call(kernel, problem, setup);
  ASSERT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
  ASSERT_EQ(answer.out.size(),
            RowIndex(geometry).rows() * static_cast<std::size_t>(problem.head_dim_vo));
  Comparison comparison(geometry, answer);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.heads_q; ++h) {
      for (std::int64_t i = 0; i < geometry.length_q(b); ++i)
        comparison.row(b, h, i, exact_row(geometry, inputs, b, h, i));
    }
  }
  EXPECT_EQ(comparison.differences(), 0) << kernel << "/" << problem_id(problem);
}

void expect_exact(const std::string& kernel, const Problem& problem, const CallSetup& setup) {
  const Geometry geometry(problem);
  expect_exact(kernel, geometry, make_inputs(geometry), setup);
}

}  // namespace plumbline::testing
