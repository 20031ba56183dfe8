// The variance of O from rounding P: TP in docs/judging-formulas.md. Errors of keys that round
// alike add linearly.
#include <cblas.h>

#include <algorithm>
#include <numeric>

#include "harness/reference/variance_terms.h"

namespace plumbline {

// A negative excess, from errors that cancel, counts as 0.
void Moments::add_excess(const BlockSums& sums, std::span<const std::int64_t> rows, bool about_o,
                         Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  shift_by_o(block, about_o ? rows : std::span<const std::int64_t>(), shift);
  std::vector<const TiedKeys*> tied;
  for (const std::int64_t r : rows) tied.push_back(&sums.tied.data()[r]);
  cell_pairs(block, tied, shift, pairs);
  const float* of_row = pairs.data();
  for (const std::int64_t r : rows) {
    const double unit = 2 * sums.tied.data()[r].unit_squared;
    double* to = result.data() + r * block.head->ld;
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
      const double excess = unit * of_row[j];
      if (!(excess <= 0)) to[j] += excess;
    }
    of_row += block.head->ld;
  }
}

namespace {

// Computes T_j of the flat rows, and raises their TP to at least T_j^2 / shared_slack.
void add_shared_errors(BlockSums& sums, Moments& moments, bool about_o, Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  const HeadData& head = *block.head;
  sums.shared_error.clear();
  const auto is_flat = [](const RowRounding& row) { return row.is_flat; };
  if (std::ranges::none_of(sums.rounding, is_flat)) return;
  Weights& errors = sums.logits.weights;
  std::ranges::fill(errors, 0.0F);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const RowRounding& of_row = sums.rounding.data()[r];
    if (is_flat(of_row)) std::ranges::copy(of_row.errors, errors.begin() + r * block.stride);
  }
  product(block, errors, head.v_centered, moments.first);
  sums.shared_error.assign(sums.elements(), 0);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const RowRounding& of_row = sums.rounding.data()[r];
    if (!is_flat(of_row)) continue;
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const std::int64_t at = r * head.ld + j;
      const double center = head.center.data()[j] - (about_o ? block.o_of(r, j) : 0),
                   error = moments.first[at] + of_row.error_sum * center;
      sums.shared_error.data()[at] = error;
      result.data()[at] = at_least_shared(result.data()[at], error);
    }
  }
}

// Computes TP of a normalized P, whose errors are known in every row (RowRounding::errors).
void normalized(BlockSums& sums, Moments& moments, Buffer<double>& result) {
  const Model& model = sums.model;
  const RowBlock& block = *sums.block;
  const double unit_squared = square(model.u_p);
  std::vector<std::int64_t> all(static_cast<std::size_t>(block.rows)), tied;
  std::iota(all.begin(), all.end(), 0);
  set_weights(block, all, sums.logits.weights, [&](std::int64_t r) {
    return [&, p = block.p_of(r), errors = sums.rounding.data()[r].errors.data()](std::int64_t k) {
      return normalized_variance(model, p[k], errors[k]) / unit_squared;
    };
  });
  product(block, sums.logits.weights, block.head->v_squared, moments.first);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = unit_squared * moments.first[i];
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const RowRounding& rounding = sums.rounding.data()[r];
    TiedKeys& of_row = sums.tied.data()[r];
    if (!of_row.cells.empty()) {
      tied.push_back(r);
      of_row.weigh(unit_squared,
                   [&](std::int64_t k) { return double{rounding.errors.data()[k]} / model.u_p; });
    }
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j)
      result.data()[r * block.head->ld + j] += rounding.sum_variance * square(block.o_of(r, j));
  }
  moments.add_excess(sums, tied, false, result);
}

// Recomputes TP of rows that have kappas of their own, after p_rounding() used kappa in all rows.
// Such rows are few, so they get a matrix product of their own.
void add_local_rows(BlockSums& sums, Moments& moments, Buffer<double>& result) {
  const Model& model = sums.model;
  const RowBlock& block = *sums.block;
  const double unit_squared = square(model.u_p);
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (sums.rounding.data()[r].is_local) rows.push_back(r);
  }
  if (rows.empty()) return;
  Weights& weights = sums.logits.weights;
  set_weights(block, rows, weights, [&](std::int64_t r) {
    const PWeights of_row = p_weights(model, block.total.data()[r], sums.rounding.data()[r]);
    return [p = block.p_of(r), of_row](std::int64_t k) { return of_row.independent(p[k]); };
  });
  product(block, rows, weights, block.head->v_squared, moments.first);
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const std::int64_t ld = block.head->ld;
    for (std::int64_t j = 0; j < ld; ++j)
      result.data()[rows.data()[i] * ld + j] = unit_squared * moments.first[i * ld + j];
  }
}

// Reduces the variance of keys with P near 1, which have smaller errors, after p_rounding() used
// kappa for all keys.
void reduce_largest_p(const BlockSums& sums, Buffer<double>& result) {
  const Model& model = sums.model;
  const RowBlock& block = *sums.block;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const RowRounding& rounding = sums.rounding.data()[r];
    if (rounding.is_local) continue;
    const PWeights weights = p_weights(model, block.total.data()[r], rounding);
    const double* p = block.p_of(r);
    const double least = (1 - model.u_p) / rounding.t_of_p;
    block.for_seen(r, [&](std::int64_t k) {
      if (!(p[k] > least)) return;
      const double less =
          square(model.u_p) * (model.kappa_p * square(p[k]) - weights.independent(p[k]));
      for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
        double& variance = result.data()[r * block.head->ld + j];
        variance = std::max(
            0.0, variance - less * double{block.head->v_squared
                                              .data()[(block.first_key + k) * block.head->ld + j]});
      }
    });
  }
}

}  // namespace

void p_rounding(BlockSums& sums, Moments& moments, Buffer<double>& result) {
  const Model& model = sums.model;
  const RowBlock& block = *sums.block;
  const bool about_o = model.denominator_from_rounded_p;
  const double unit_squared = square(model.u_p);
  const auto weights_of = [&](std::int64_t r) {
    return p_weights(model, block.total.data()[r], sums.rounding.data()[r]);
  };
  product(block, sums.logits.weights, block.head->v_squared, sums.p_squared);
  if (model.p_normalized) {
    normalized(sums, moments, result);
    add_shared_errors(sums, moments, false, result);
    return;
  }
  if (!about_o && model.eta_p == 0) {
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = unit_squared * model.kappa_p * sums.p_squared[i];
    if (model.p_max == MaximumOfP::one && model.largest_p == 1) reduce_largest_p(sums, result);
    add_local_rows(sums, moments, result);
  } else {
    std::vector<std::int64_t> all(static_cast<std::size_t>(block.rows));
    std::iota(all.begin(), all.end(), 0);
    set_weights(block, all, sums.logits.weights, [&](std::int64_t r) {
      return [p = block.p_of(r), weights = weights_of(r)](std::int64_t k) {
        return weights.independent(p[k]);
      };
    });
    if (about_o) {
      moments.centered.compute(block, sums.logits.weights, result);
      for (double& variance : result) variance *= unit_squared;
    } else {
      product(block, sums.logits.weights, block.head->v_squared, moments.first);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = unit_squared * moments.first[i];
    }
  }
  const bool weights_are_p = model.eta_p == 0 && model.p_max != MaximumOfP::one;
  std::vector<std::int64_t> tied;
  for (std::int64_t r = 0; r < block.rows && !model.p_stochastic; ++r) {
    TiedKeys& of_row = sums.tied.data()[r];
    if (of_row.cells.empty()) continue;
    tied.push_back(r);
    if (weights_are_p && !sums.rounding.data()[r].is_local) {
      // LogitErrors::finish() set these weights to p_k.
      of_row.unit_squared = unit_squared * model.kappa_shared;
    } else {
      of_row.weigh(unit_squared, [p = block.p_of(r), weights = weights_of(r)](std::int64_t k) {
        return weights.coherent(p[k]);
      });
    }
  }
  moments.add_excess(sums, tied, about_o, result);
  for (std::int64_t r = 0; r < block.rows && model.truncates_p(); ++r) {
    const double lost = truncated_share(model) * weighted_mean(model, block.sink(r));
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j)
      result.data()[r * block.head->ld + j] += square(lost * block.o_of(r, j));
  }
  add_shared_errors(sums, moments, about_o, result);
}

}  // namespace plumbline
