// The formulas of legal error in the order of docs/judging-formulas.md, each for one key, element
// or row. bounded_scales.h sums them over the keys of blocks of rows. For tests,
// tests/reference/exact_row.h sums them over one row in plain fp64 loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/reference/row_rounding.h"

namespace plumbline {

// Standard deviation of a sink's logit error. Sinks come from memory, so only the argument of exp
// is rounded.
inline double sink_sd(const Sink& sink) { return u32 * (4 * std::abs(sink.s) + 1); }

// TP: the rounding of one row's P, in units of u_P. near_zero() is e_k = min(eta_P / l, p_k).
// independent() is a key's squared weight among independent errors. coherent() is the key's weight
// w_k among errors that a cell shares. Random roundings share no error.
struct PWeights {
  double near_zero_limit = 0;  // eta_P / l / u_P
  double one = 1;              // 1 / u_P
  double kappa_p = kappa, kappa_shared = kappa_coherent;
  // `t_of_p` is t / p. `u_one` is u_P if the largest P is 1 and exact, otherwise 0. If t > 1 - u_P,
  // a kernel's P lies between t and 1, so its error is at most 1 - t.
  double t_of_p = 1, u_one = 0;

  const RowRounding* row = nullptr;  // a row with its own kappas, or null
  bool is_random = false;            // P is rounded up or down at random

  double near_zero(double p) const { return std::min(near_zero_limit, p * one); }
  // Returns the largest error near zero. A random rounding may raise a P of nearly 0 to 2 eta_P.
  double largest_near_zero(double p) const {
    if (!is_random) return near_zero(p);
    return p > 0 ? 2 * near_zero_limit : 0;
  }
  // Returns the variance near zero. A random rounding of p in the step [0, 2 eta] has the variance
  // p (2 eta - p), on average over the step (2 eta)^2 / 6. Above eta the average is the minimum,
  // because another choice of the maximum m moves P within its step.
  double variance_near_zero(double p) const {
    if (!is_random) return near_zero(p) * near_zero(p) / 3;
    const double of_key = p * one, of_first_step = of_key * (2 * near_zero_limit - of_key);
    return of_key < near_zero_limit ? of_first_step
                                    : std::max(of_first_step, 2 * square(near_zero_limit) / 3);
  }
  double largest_kappa(double p) const {
    const double t = p * t_of_p;
    return t > 1 - u_one ? std::max(min_kappa, square((1 - t) / u_one)) : 1 / min_kappa;
  }
  double kappa_of(double p) const {
    const double of_key = row == nullptr ? kappa_p : row->kappa_of(p * t_of_p);
    return u_one == 0 ? of_key : std::min(of_key, largest_kappa(p));
  }
  double independent(double p) const { return kappa_of(p) * p * p + variance_near_zero(p); }
  // Returns true if every P has kappa_p. plain() then equals independent().
  bool is_plain() const { return row == nullptr && u_one == 0 && !is_random; }
  double plain(double p) const { return kappa_p * p * p + near_zero(p) * near_zero(p) / 3; }
  double coherent(double p) const {
    const double of_key = std::max(kappa_shared, row == nullptr ? 0 : row->kappa_of(p * t_of_p));
    return std::sqrt(u_one == 0 ? of_key : std::min(of_key, largest_kappa(p))) *
           std::max(p, near_zero(p));
  }

  static constexpr double min_kappa = 0.003;
};
// `total` is the denominator of the p that the result is used with. If `total` leaves out a
// sink, `of_sum` is the sum of the block's p_k, otherwise 1.
inline PWeights p_weights(const Model& model, double total, const RowRounding& row,
                          double of_sum = 1) {
  const bool one_is_exact = model.p_max == MaximumOfP::one && model.p_rounded != DType::none &&
                            model.largest_p == 1 &&
                            round_to(model.p_prescale, model.p_rounded) == model.p_prescale;
  return {model.eta_p > 0 ? model.eta_p / (model.p_divided ? 1 : total) / model.u_p : 0,
          1 / model.u_p,
          model.kappa_p,
          model.kappa_shared,
          row.t_of_p * of_sum,
          one_is_exact ? model.u_p : 0,
          row.is_local ? &row : nullptr,
          model.p_stochastic};
}
// Returns the relative loss of sum p_k x_kj if P is truncated: the root of TP's systematic part.
inline double truncated_share(const Model& model) {
  return model.truncates_p() && !model.p_normalized ? truncation_mean * model.u_p : 0;
}
// Returns sum p_k x_kj / o_j.
inline double weighted_mean(const Model& model, const Sink* sink) {
  return !model.denominator_from_rounded_p ? 1 : sink != nullptr ? sink->p : 0;
}
// Returns the variance, but at least error^2 / shared_slack. For known errors, such as T_j = sum_k
// errors_k x_kj of a flat row, before and after output rounding.
inline double at_least_shared(double variance, double error) {
  return std::max(variance, square(error) / shared_slack);
}

// TS and TE. Roundings of logits that all keys of a cell share: of S, of a softcap's tanh and of
// exp2. Their cells are s_cell(), tanh_cell() and exp2_phase(); exp2 also has the cells of
// exp2_step().
enum class SharedRounding { s, tanh, exp2 };
inline constexpr SharedRounding shared_roundings[] = {SharedRounding::s, SharedRounding::tanh,
                                                      SharedRounding::exp2};
inline bool is_made(SharedRounding rounding, const Model& model, double cap) {
  if (rounding == SharedRounding::tanh) return model.tanh_error > 0 && cap > 0;
  return (rounding == SharedRounding::s ? model.u_s : model.exp2_error) > 0;
}
// Returns p_k times 1 for exp2, |c_k| for tanh, and RowBlock::rounded_size() for S.
inline double shared_weight(SharedRounding rounding, double p, double size, double capped) {
  if (rounding == SharedRounding::exp2) return p;
  return p * std::abs(rounding == SharedRounding::s ? size : capped);
}
// Returns the size of a sink's logit if the rounding of S includes it, otherwise 0.
inline double rounded_size(const Model& model, const Sink& sink) {
  return model.s_place == Model::PlaceOfS::logit ? std::abs(sink.s) : 0;
}
// `coherent` is the sum over cells of (sum_k w_k)^2, `independent` the sum of w_k^2. For exp2,
// `independent` is at least the sum over steps of (sum_k w_k)^2.
inline double shared_variance(SharedRounding rounding, const Model& model, double coherent,
                              double independent) {
  if (rounding == SharedRounding::exp2)
    return square(model.exp2_error) / 2 * std::max(coherent, independent);
  const double squared = rounding == SharedRounding::s ? model.s_roundings * square(model.u_s)
                                                       : square(model.tanh_error);
  return kappa_coherent * squared * std::max(coherent, independent);
}

// Returns the weight that a row keeps if a kernel skips keys with the weight `skipped`. The result
// is at least u32, because an LSE without its sink may lose all keys.
inline double kept_weight(double skipped) { return std::max(1 - skipped, u32); }
// Returns by how much skipping these keys changes the LSE.
inline double skipped_lse(double skipped) { return std::log1p(-std::min(skipped, 1 - u32)); }

// Sums over a row's keys in one column, for TA and TR.
struct ColumnSums {
  double o = 0, p_squared = 0;                  // o_j, sum p_k^2 v_kj^2
  double range = 0;                             // R_j
  double truncated = 0, truncated_squares = 0;  // sum sign(v_kj) c_k, sum t_k^2
  double repeated = 0;                          // n (4 S_t S_vj - 1)+ / 3
  double repeated_v = 0;                        // S_vj
};
// The least error, in units of max |v|: a bound of the sum of weights too small for fp32. Without
// it, a column whose heavy keys all have v = 0 would have an error of 0.
inline constexpr double min_error = 0x1p-48;

// Returns the loss of truncated sums in units of R_j: f_out per step.
inline double step_loss(const AccumulationModel& pv, std::int64_t n) {
  return pv.steps(n) * pv.f_out;
}
// TA's systematic part: (|sum sign(v_kj) c_k / 2| + ceil(n/L) f_out R_j / 2) / 3, with c_k =
// counted_loss(t_k, f R_j).
inline double truncation_drift(double truncated, double range, double step_loss) {
  return (std::abs(truncated) + step_loss * range) / 6;
}
// Returns the relative error that a whole row of O shares. It comes from V's scale, which
// multiplies the sums, or from a merge's weights exp(LSE_i - LSE) with a rounded LSE.
inline double error_of_sums(const Model& model, bool scaled_outside, double lse) {
  if (model.merges) return u32 * std::abs(lse) / std::sqrt(2.0);
  return scaled_outside ? u32 : 0;
}
// Returns the error of O from half the smallest subnormal of P V's accumulator. `unit` is the unit
// of the result, divided by the scale that multiplies the sums.
inline double smallest_sum(const Model& model, double l, double unit) {
  return model.pv.eta / ((model.p_divided ? 1 : l) * model.p_prescale * unit);
}
struct Accumulation {
  // `repeated`: n (4 S_t - 1)+ / 3 of the addends of l. `smallest`: smallest_sum().
  // `reciprocal`: the relative error of 1 / l, also of each split. `product`: that of a product.
  // `of_sums`: error_of_sums().
  Accumulation(const AccumulationModel& pv, std::int64_t n, double repeated, double smallest,
               double reciprocal, double product, double of_sums)
      : of_repeated(0.3 * pv.u),
        of_o(0.3 * square(pv.u) * (static_cast<double>(n) / 3 + 4) +
             square(of_repeated * repeated) + square(reciprocal) + square(of_sums)),
        of_product(square(product) / 3),
        of_p_squared(square(pv.u) * (static_cast<double>(n) / 3 + 4) + square(reciprocal) +
                     of_product),
        keys(static_cast<double>(n)),
        of_smallest(square(keys * smallest)),
        loss(step_loss(pv, n)),
        toward_zero(pv.toward_zero) {}

  // u^2 (n/3 + 4)(0.3 o_j^2 + sum p_k^2 v_kj^2) + (0.3 u)^2 ((n (4 S_t S_vj - 1)+ / 3 R_j)^2
  // + (n (4 S_t - 1)+ / 3 o_j)^2) + reciprocal^2 (o_j^2 + sum p_k^2 v_kj^2) + of_sums^2 o_j^2
  // + min((n smallest)^2, n sum p_k^2 v_kj^2) / 3 + least^2
  // + product^2 / 3 (sum p_k^2 v_kj^2 + (S_vj o_j)^2): equal v have equal errors
  // toward zero also + drift^2 + sum t_k^2 / 6
  double variance(const ColumnSums& sums, double least) const {
    const double variance = of_o * square(sums.o) + of_p_squared * sums.p_squared +
                            square(of_repeated * sums.repeated * sums.range) +
                            of_product * square(sums.repeated_v * sums.o) +
                            std::min(of_smallest, keys * sums.p_squared) / 3 + square(least);
    if (!toward_zero) return variance;
    return variance + (square(truncation_drift(sums.truncated, sums.range, loss)) +
                       sums.truncated_squares / 6.0);
  }

  double of_repeated, of_o, of_product, of_p_squared, keys, of_smallest, loss;
  bool toward_zero;
};
// TR: kappa u_sp^2 max(R_j^2, o_j^2 + sum p_k^2 v_kj^2) + eta_sp^2 / 3. If O is rounded between
// tiles, each of n / 16 tiles adds the same terms with u_t and eta_t, but half of the first,
// because O^2 is half as large on average over the tiles.
inline double stored_partials(const Model& model, double unit, std::int64_t n,
                              const ColumnSums& sums) {
  const double partial = std::max(square(sums.range), square(sums.o) + sums.p_squared);
  const double tiles = std::ceil(static_cast<double>(n) / smallest_tile);
  return kappa * square(model.u_split) * partial + square(model.eta_split / unit) / 3 +
         tiles * (kappa / 2 * square(model.u_tile) * partial + square(model.eta_tile / unit) / 3);
}
// For the bound: the largest relative error of a product of P and V, without the logit's error.
double max_product_error(const Model& model, std::int64_t n, bool scaled_outside);

// The part of lse_sigma^2 from sums and from the logarithm in fp32.
inline double lse_floor(double lse, std::int64_t n) {
  return square(u32 * (4 + std::abs(lse) + 2 * std::sqrt(static_cast<double>(n))));
}
// Adds the variance of rounding an LSE that is stored in 16 bits. The result covers at least the
// known rounding error of this LSE.
inline double with_stored_lse(const Model& model, double lse, double variance) {
  if (model.lse == DType::f32 || !std::isfinite(lse)) return variance;
  const double stored = lse / model.lse_unit,
               error = (round_to(stored, model.lse) - stored) * model.lse_unit;
  return at_least_shared(variance + square(ulp(stored, model.lse) * model.lse_unit) / 12, error);
}
// Returns how far rounding these logits shifts the LSE. Cells miss two cases: logits whole rounding
// intervals apart, which all round alike, and intervals so large that the shift exceeds the first
// order of the errors. `held` are the rounded logits of the keys, `sink` is that of a sink. Keys
// with p = 0 are left out.
double lse_shift(const double* held, const double* p, KeyRange keys, std::optional<double> sink,
                 double lse);

}  // namespace plumbline
