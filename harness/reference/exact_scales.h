// The formulas of legal error, of docs/judging-formulas.md and in its order: each is here once, for
// one key, one element or one row. bounded_scales.h sums them over the keys of blocks of rows;
// tests/reference/exact_row.h over those of one row, with plain loops in fp64 that test it.
#pragma once

#include <algorithm>
#include <cmath>

#include "harness/reference/row_rounding.h"

namespace plumbline {

// Standard deviation of a sink's logit. It comes from memory: only the argument of exp is rounded.
inline double sink_sd(const Sink& sink) { return u32 * (4 * std::abs(sink.s) + 1); }

// TP. Rounding of one row's P in units of u_P: e_k = min(eta_P / l, p_k) near zero, and the weight
// of a key among independent errors (squared) and among those that a cell shares (w_k).
struct PWeights {
  double near_zero_limit = 0;  // eta_P / l / u_P
  double one = 1;              // 1 / u_P

  const RowRounding* row = nullptr;  // with kappas of its own, or none

  double near_zero(double p) const { return std::min(near_zero_limit, p * one); }
  double kappa_of(double p) const { return row == nullptr ? kappa : row->kappa_of(p); }
  double independent(double p) const {
    return kappa_of(p) * p * p + near_zero(p) * near_zero(p) / 3;
  }
  double coherent(double p) const {
    return std::sqrt(std::max(kappa_coherent, kappa_of(p))) * std::max(p, near_zero(p));
  }
};
inline PWeights p_weights(const Model& model, double total, const RowRounding& row) {
  return {model.eta_p > 0 ? model.eta_p / total / model.u_p : 0, 1 / model.u_p,
          row.is_local ? &row : nullptr};
}
// Of an element of a flat row, where all rows share the errors: T_j = sum_k errors_k x_kj. Its
// square may not exceed TP by more than the slack, nor may that of what output rounding makes of
// it exceed sigma^2.
inline double at_least_shared(double variance, double error) {
  return std::max(variance, square(error) / shared_slack);
}

// TS and TE. Roundings of logits that all keys of a cell share: of S, of a softcap's tanh, of exp2.
// Their cells are s_cell(), tanh_cell() and exp2_phase().
enum class SharedRounding { s, tanh, exp2 };
inline constexpr SharedRounding shared_roundings[] = {SharedRounding::s, SharedRounding::tanh,
                                                      SharedRounding::exp2};
inline bool is_made(SharedRounding rounding, const Model& model, double cap) {
  if (rounding == SharedRounding::tanh) return model.tanh_error > 0 && cap > 0;
  return (rounding == SharedRounding::s ? model.u_s : model.exp2_error) > 0;
}
// What p_k weighs: |s_k|, |c_k| or 1.
inline double shared_weight(SharedRounding rounding, double p, double s, double capped) {
  if (rounding == SharedRounding::exp2) return p;
  return p * std::abs(rounding == SharedRounding::s ? s : capped);
}
// From the sum over cells of (sum_k w_k)^2 and the sum of w_k^2.
inline double shared_variance(SharedRounding rounding, const Model& model, double coherent,
                              double independent) {
  if (rounding == SharedRounding::exp2) return square(model.exp2_error) / 2 * coherent;
  const double u = rounding == SharedRounding::s ? model.u_s : model.tanh_error;
  return kappa_coherent * square(u) * std::max(coherent, independent);
}

// TA and TR, from sums over a row's keys in one column.
struct ColumnSums {
  double o = 0, p_squared = 0;                  // o_j, sum p_k^2 v_kj^2
  double range = 0;                             // R_j
  double truncated = 0, truncated_squares = 0;  // sum sign(v_kj) t_k, sum t_k^2
  double repeated = 0;                          // n (4 S_t S_vj - 1)+ / 3
};
// Of max |v|, what weights too small for fp32 may add up to: no scale is smaller, so that a column
// whose heavy keys all have v = 0 is not judged by an error of 0.
inline constexpr double least_error = 0x1p-48;

// What truncated sums lose, of R_j: f_out for every step.
inline double step_loss(const AccumulationModel& pv, std::int64_t n) {
  return pv.steps(n) * pv.f_out;
}
// TA's systematic part: (|sum sign(v_kj) t_k / 2| + ceil(n/L) f_out R_j / 2) / 3.
inline double truncation_drift(double truncated, double range, double step_loss) {
  return (std::abs(truncated) + step_loss * range) / 6;
}
struct Accumulation {
  // `repeated`: n (4 S_t - 1)+ / 3, of the addends of l.
  Accumulation(const AccumulationModel& pv, std::int64_t n, double repeated)
      : u_squared_n(square(pv.u) * (static_cast<double>(n) / 3 + 4)),
        of_repeated(0.3 * pv.u),
        of_l(of_repeated * repeated),
        loss(step_loss(pv, n)),
        toward_zero(pv.toward_zero) {}

  // u^2 (n/3 + 4)(0.3 o_j^2 + sum p_k^2 v_kj^2) + (0.3 u)^2 ((n (4 S_t S_vj - 1)+ / 3 R_j)^2
  // + (n (4 S_t - 1)+ / 3 o_j)^2); where V's scale multiplies
  // the sums + u32^2 o_j^2; toward zero + drift^2 + sum t_k^2 / 6
  double variance(const ColumnSums& sums, double least, bool scaled_outside) const {
    double variance = u_squared_n * (0.3 * square(sums.o) + sums.p_squared) +
                      square(of_repeated * sums.repeated * sums.range) + square(of_l * sums.o) +
                      square(least);
    if (scaled_outside) variance += square(u32 * sums.o);
    if (!toward_zero) return variance;
    return variance + (square(truncation_drift(sums.truncated, sums.range, loss)) +
                       sums.truncated_squares / 6.0);
  }

  double u_squared_n, of_repeated, of_l, loss;
  bool toward_zero;
};
// kappa u_sp^2 max(R_j^2, o_j^2 + sum p_k^2 v_kj^2) + eta_sp^2 / 3
inline double split_partials(double u, double eta, const ColumnSums& sums) {
  const double partial = std::max(square(sums.range), square(sums.o) + sums.p_squared);
  return kappa * square(u) * partial + square(eta) / 3;
}

// The bound: the relative error that each product of P and V may have, but for the logit's.
double product_error(const Model& model, std::int64_t n, bool scaled_outside);

// lse_sigma^2: the part of sums and of the logarithm in fp32.
inline double lse_floor(double lse, std::int64_t n) {
  return square(u32 * (4 + std::abs(lse) + 2 * std::sqrt(static_cast<double>(n))));
}
// By how much rounding these very logits moves the LSE. Logits that lie whole rounding intervals
// apart are all rounded alike, which no cell sees; and intervals that are large against 1 move it
// otherwise than the first order of their errors says. Keys with p = 0 are left out.
double lse_shift(const Model& model, const double* s, const double* p, KeyRange keys,
                 const Sink* sink, double lse);

}  // namespace plumbline
