// Sums the formulas of sigma, the bound and the LSE's scale over the keys of one row.
#include "tests/reference/exact_row.h"

#include <map>

#include "harness/reference/cells.h"
#include "harness/reference/repeated_addends.h"

namespace plumbline {
namespace {

using Numbers = SingleRow::Numbers;
using Groups = SingleRow::Groups;

template <class Label>
Groups grouped(std::size_t count, Label label) {
  std::map<std::uint64_t, std::vector<std::size_t>> cells;
  for (std::size_t k = 0; k < count; ++k) cells[label(k)].push_back(k);
  Groups groups;
  for (auto& [of_cell, keys] : cells) groups.push_back(std::move(keys));
  return groups;
}

template <class OfKey>
Numbers each(std::size_t count, OfKey of_key) {
  Numbers numbers;
  for (std::size_t k = 0; k < count; ++k) numbers.push_back(of_key(k));
  return numbers;
}
double sum_of_squares(const Numbers& x) {
  double sum = 0;
  for (const double value : x) sum += square(value);
  return sum;
}
// sum over cells of (sum_{k in c} x_k)^2
double sum_over_cells(const Groups& cells, const Numbers& x) {
  double sum = 0;
  for (const auto& cell : cells) {
    double of_cell = 0;
    for (const std::size_t k : cell) of_cell += x[k];
    sum += square(of_cell);
  }
  return sum;
}
// max(0, sum over cells of (sum_{k in c} x_k)^2 - sum_{k in c} x_k^2)
double excess(const Groups& cells, const Numbers& x) {
  return std::max(0.0, sum_over_cells(cells, x) - sum_of_squares(x));
}

// ---- logit error

// e0_k = u32 (0.5 a slope_k sqrt(D n2_k) + 4 max(|c_k|, |b_k|, |s_k|, |row's bias|) + 1)
// toward zero: M_k = a slope_k (|raw_k| + sqrt(n2_k)),
//   beta_k = M_k (f sqrt(D) |raw_k| / (6 sqrt(n2_k)) + ceil(D/L) f_out / 12)
//   sd_k^2 = e0_k^2 + beta_k^2 + M_k^2 f^2 D / 6
void find_logit_errors(SingleRow& row) {
  const AccumulationModel& qk = row.model.qk;
  for (std::size_t k = 0; k < row.keys; ++k) {
    const double norm = std::sqrt(row.n2[k]), x = std::abs(row.x[k]), s = std::abs(row.s[k]);
    const double largest = std::max(
        {std::abs(row.capped[k]), std::abs(row.s[k] - row.capped[k]), s, std::abs(row.row_bias)});
    const double e0 = qk.u * (0.5 * row.slope[k] * std::sqrt(row.dims) * norm + 4 * largest) + u32;
    const double truncated = qk.toward_zero ? row.slope[k] * (x + norm) : 0;
    const double steps = std::ceil(row.dims / qk.step);
    row.beta[k] =
        norm > 0 ? truncated * (qk.f * std::sqrt(row.dims) * x / (6 * norm) + steps * qk.f_out / 12)
                 : 0;
    row.sd[k] = std::sqrt(square(e0) + square(row.beta[k]) +
                          square(truncated) * square(qk.f) * row.dims / 6);
  }
}
Groups cells_of_p(const SingleRow& row) {
  return grouped(row.keys, [&](std::size_t k) {
    const double l = row.model.p_divided ? 1 : row.l;
    return row.model.u_s > 0 ? p_cell(std::exp(row.held[k] - row.held_max) * (l / row.l), row.model)
                             : p_cell(row.p[k] * l, row.model);
  });
}
// ---- TP, TL, TS, TE, TA, TR of a column

// T_j = sum_k errors_k x_kj of a flat row.
double shared_error(const SingleRow& row, const Numbers& v, double o) {
  const double from = row.model.denominator_from_rounded_p ? o : 0;
  double sum = 0;
  for (std::size_t k = 0; k < row.errors.size(); ++k) sum += row.errors[k] * (v[k] - from);
  return sum;
}
// TP: sum_k (kappa u_P^2 p_k^2 + e_k^2 / 3) x_kj^2 + excess of cells over (w_k x_kj)
// P normalised: sum_k max(delta_k^2, 0.03 u_P^2 p_k^2) v_kj^2 + excess of cells over (delta_k v_kj)
// + max(0, (sum delta_k)^2 / 1.2 - sum max(…) - excess of cells over delta_k) o_j^2
double normalized_p_variance(const SingleRow& row, const Numbers& v, double o) {
  const double floor = 0.03 * square(row.model.u_p);
  double of_keys = 0, of_v = 0, sum = 0;
  for (std::size_t k = 0; k < row.keys; ++k) {
    const double variance = std::max(square(row.errors[k]), floor * square(row.p[k]));
    of_keys += variance;
    of_v += variance * square(v[k]);
    sum += row.errors[k];
  }
  const Numbers shared = each(row.keys, [&](std::size_t k) { return row.errors[k] * v[k]; });
  const double beyond = square(sum) / 1.2 - of_keys - excess(row.p_cells, row.errors);
  return of_v + excess(row.p_cells, shared) + std::max(0.0, beyond) * square(o);
}
double p_variance(const SingleRow& row, const Numbers& v, double o) {
  if (row.model.p_normalized) {
    const double variance = normalized_p_variance(row, v, o);
    return row.rounding.is_flat ? at_least_shared(variance, shared_error(row, v, o)) : variance;
  }
  const PWeights weights = p_weights(row.model, row.l, row.rounding);
  const double from = row.model.denominator_from_rounded_p ? o : 0;
  double independent = 0;
  for (std::size_t k = 0; k < row.keys; ++k)
    independent += weights.independent(row.p[k]) * square(v[k] - from);
  if (row.model.p_stochastic) return square(row.model.u_p) * independent;
  const Numbers shared =
      each(row.keys, [&](std::size_t k) { return weights.coherent(row.p[k]) * (v[k] - from); });
  const double of_truncation = square(truncated_share(row.model) * o *
                                      weighted_mean(row.model, row.sink ? &*row.sink : nullptr));
  return at_least_shared(
      square(row.model.u_p) * (independent + excess(row.p_cells, shared)) + of_truncation,
      shared_error(row, v, o));
}
// The sum over ties of Q of (sum_k p_k shift_k y_k)^2 / slack
template <class Factor>
double of_query_ties(const SingleRow& row, const Numbers& p, Factor factor) {
  double variance = 0;
  for (const Numbers& shifts : row.tie_shifts) {
    double sum = 0;
    for (std::size_t k = 0; k < row.keys; ++k) sum += p[k] * shifts[k] * factor(k);
    variance += square(sum) / 1.2;
  }
  return variance;
}
// e^2 / 3 sum_k p_k a^2 slope_k^2 n2_k y_k^2 (row.n2 includes a^2)
template <class Factor>
double of_products(const SingleRow& row, const Numbers& p, Factor factor) {
  double sum = 0;
  for (std::size_t k = 0; k < row.keys; ++k)
    sum += p[k] * square(row.slope[k]) * row.n2[k] * square(factor(k));
  return row.model.merges ? 0 : square(row.model.product_error) / 3 * sum;
}
// sum of p_k |y_k| over keys with exp(s_k - m) below the threshold
template <class Factor>
double skipped_sum(const SingleRow& row, const Numbers& p, Factor factor) {
  double sum = 0;
  for (std::size_t k = 0; k < row.keys; ++k)
    sum += std::exp(row.s[k] - row.m) < row.model.skipped_below ? p[k] * std::abs(factor(k)) : 0;
  return sum;
}
double skipped_weight(const SingleRow& row, const Numbers& p) {
  return std::min(skipped_sum(row, p, [](std::size_t) { return 1.0; }), 1 - u32);
}
// (the sum over skipped keys / the weight of the others)^2 / slack
template <class Factor>
double of_skipped_keys(const SingleRow& row, const Numbers& p, Factor factor) {
  return square(skipped_sum(row, p, factor) / (1 - skipped_weight(row, p))) / 1.2;
}
// TL: sum_k p_k^2 sd_k^2 (v_kj - o_j)^2 + excess of cells over (p_k sd_k (v_kj - o_j)) + ties of Q
double logit_variance(const SingleRow& row, const Numbers& v, double o) {
  const Numbers terms =
      each(row.keys, [&](std::size_t k) { return row.p[k] * row.sd[k] * (v[k] - o); });
  const double of_sink = row.sink ? square(row.sink->p * sink_sd(*row.sink) * o) : 0;
  return sum_of_squares(terms) + excess(row.p_cells, terms) + of_sink +
         of_query_ties(row, row.p, [&](std::size_t k) { return v[k] - o; }) +
         of_products(row, row.p, [&](std::size_t k) { return v[k] - o; });
}
// For S and exp2 the sink is one more key.
bool has_sink(SharedRounding rounding, const Sink* sink) {
  return sink != nullptr && rounding != SharedRounding::tanh;
}
Groups cells_of(const SingleRow& row, SharedRounding rounding, const Sink* sink) {
  return grouped(row.keys + (has_sink(rounding, sink) ? 1 : 0), [&](std::size_t k) {
    const double s = k < row.keys ? row.s[k] : sink->s;
    if (rounding == SharedRounding::s)
      return s_cell(k < row.keys ? row.unrounded[k] : s, row.model);
    return rounding == SharedRounding::exp2 ? exp2_phase(s - row.m) : tanh_cell(row.x[k] / row.cap);
  });
}
// TS: max(sum_k (p_k sS_k y_k)^2, sum over S cells of (sum p_k sS_k y_k)^2) with sS_k =
// sqrt(kappa_t) u_S |s_k|; and the same with sT_k = sqrt(kappa_t) tanh_rel_error |c_k| and tanh
// cells
// TE: exp2_rel_error^2 / 2 max(sum_k (p_k y_k)^2, and over phases and over steps the sum of
// (sum p_k y_k)^2)
// y_k = factor(k): v_kj - o_j, or 1 for the LSE
template <class Factor>
double of_shared_rounding(const SingleRow& row, SharedRounding rounding, const Numbers& p,
                          const Sink* sink, Factor factor) {
  const Groups cells = cells_of(row, rounding, sink);
  const Numbers terms = each(row.keys + (has_sink(rounding, sink) ? 1 : 0), [&](std::size_t k) {
    if (k == row.keys)
      return factor(k) * shared_weight(rounding, sink->p, rounded_size(row.model, *sink), 0);
    const double size = rounding == SharedRounding::s ? row.rounded_size[k] : 0;
    return factor(k) * shared_weight(rounding, p[k], size, row.capped[k]);
  });
  double independent = sum_of_squares(terms);
  if (rounding == SharedRounding::exp2) {
    const Groups steps = grouped(terms.size(), [&](std::size_t k) {
      return exp2_step((k < row.keys ? row.s[k] : sink->s) - row.m);
    });
    independent = std::max(independent, sum_over_cells(steps, terms));
  }
  return shared_variance(rounding, row.model, sum_over_cells(cells, terms), independent);
}
// For TA and TR: R_j, sum p_k^2 v_kj^2, and with t_k = min(f R_j, p_k |v_kj|) the sums of
// sign(v_kj) t_k and of t_k^2
ColumnSums column_sums(const SingleRow& row, const Numbers& v, double o) {
  ColumnSums sums{.o = o};
  double prefix = 0, high = 0, low = 0;
  for (std::size_t k = 0; k < row.keys; ++k) {
    prefix += row.p[k] * v[k];
    high = std::max(high, prefix), low = std::min(low, prefix);
    sums.p_squared += square(row.p[k] * v[k]);
  }
  sums.range = high - low;
  for (std::size_t k = 0; k < row.keys; ++k) {
    const double q = row.model.pv.f * sums.range, t = std::min(q, row.p[k] * std::abs(v[k])),
                 counted = counted_loss(t, q);
    sums.truncated += v[k] < 0 ? -counted : counted;
    sums.truncated_squares += square(t);
  }
  return sums;
}

}  // namespace

SingleRow::SingleRow(const Model& of, const RowBlock& block, std::int64_t row,
                     const RowRounding& local)
    : model(of),
      keys(static_cast<std::size_t>(block.count(row))),
      rounding(local),
      repeated_p(repeated_share(block, row)),
      repeated_v(repeated_shares(block, row)),
      m(block.row_max.data()[row]),
      l(block.total.data()[row]),
      lse(block.lse.data()[row]),
      dims(static_cast<double>(block.head->dim_qk)),
      cap(block.cap()),
      v_unit(block.head->v_unit),
      scaled_outside(block.head->scaled_outside),
      factor_of_sums(block.head->factor_of_sums) {
  row_bias = block.row_bias(of, row);
  const HeadData& head = *block.head;
  const double* q = block.q.data() + row * head.dim_qk;
  v.resize(static_cast<std::size_t>(head.dim_vo));
  tie_shifts.resize(block.ties[static_cast<std::size_t>(row)].size());
  block.for_seen(row, [&](std::int64_t k) {
    const std::int64_t at = row * block.stride + k;
    const bool plain = block.shapes.empty();
    s.push_back(block.s.data()[at]);
    for (std::size_t t = 0; t < tie_shifts.size(); ++t) {
      const QueryTie& tie = block.ties[static_cast<std::size_t>(row)][t];
      tie_shifts[t].push_back(
          block.scale * tie.step *
          head.k[static_cast<std::size_t>((block.first_key + k) * head.dim_qk + tie.dim)] *
          (block.shapes.empty() ? 1 : block.slope.data()[at]));
    }
    if (model.u_s > 0) {
      unrounded.push_back(block.unrounded.data()[at]);
      rounded_size.push_back(block.rounded_size(model, row, k));
      held.push_back(block.held.data()[at]);
      held_max = block.held_max[static_cast<std::size_t>(row)];
    }
    if (!local.errors.empty()) errors.push_back(local.errors[static_cast<std::size_t>(k)]);
    p.push_back(block.p.data()[at]);
    x.push_back(plain ? s.back() : block.x.data()[at]);
    slope.push_back(plain ? 1 : block.slope.data()[at]);
    capped.push_back(plain ? s.back() : block.capped.data()[at]);
    const double* of_key = head.k.data() + (block.first_key + k) * head.dim_qk;
    double squares = 0;
    for (std::int64_t d = 0; d < head.dim_qk; ++d)
      squares += square(block.scale * q[d] * of_key[d]);
    n2.push_back(squares);
    for (std::size_t j = 0; j < v.size(); ++j)
      v[j].push_back(
          head.v.data()[(block.first_key + k) * head.dim_vo + static_cast<std::int64_t>(j)]);
  });
  for (std::int64_t j = 0; j < head.dim_vo; ++j) o.push_back(block.o.data()[row * head.dim_vo + j]);
  if (block.sink(row) != nullptr) sink = *block.sink(row);
  sd.resize(keys), beta.resize(keys);
  find_logit_errors(*this);
  p_cells = cells_of_p(*this);
}

std::array<double, rounding_count> exact_variances(const SingleRow& row, std::size_t column) {
  const Numbers& v = row.v[column];
  const double o = row.o[column];
  std::array<double, rounding_count> variances{};
  const auto of = [&](Rounding rounding) -> double& {
    return variances[static_cast<std::size_t>(rounding)];
  };
  of(Rounding::p) = p_variance(row, v, o);
  of(Rounding::logit) = logit_variance(row, v, o);
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, row.model, row.cap)) continue;
    of(rounding == SharedRounding::exp2 ? Rounding::exp2 : Rounding::s) +=
        of_shared_rounding(row, rounding, row.p, row.sink ? &*row.sink : nullptr,
                           [&](std::size_t k) { return (k < row.keys ? v[k] : 0) - o; });
  }
  of(Rounding::exp2) += of_skipped_keys(row, row.p, [&](std::size_t k) { return v[k] - o; });
  ColumnSums sums = column_sums(row, v, o);
  const auto n = static_cast<double>(row.keys);
  sums.repeated = repeated_addends(n, row.repeated_p * row.repeated_v[column]);
  sums.repeated_v = row.repeated_v[column];
  const Accumulation of_pv(
      row.model.pv, static_cast<std::int64_t>(row.keys), repeated_addends(n, row.repeated_p),
      smallest_sum(row.model, row.l, 1 / row.factor_of_sums), row.model.reciprocal_error,
      row.model.product_error, error_of_sums(row.model, row.scaled_outside, row.lse));
  double least = min_error * row.v_unit;
  if (row.model.ring_update) {
    for (const double value : v) least = std::max(least, u32 * std::abs(value));
  }
  of(Rounding::accumulation) = of_pv.variance(sums, least);
  if (row.model.u_split > 0 || row.model.u_tile > 0) {
    of(Rounding::split_partials) =
        stored_partials(row.model, 1, static_cast<std::int64_t>(row.keys), sums);
  }
  return variances;
}

double exact_shared_error(const SingleRow& row, std::size_t column) {
  return row.rounding.is_flat ? shared_error(row, row.v[column], row.o[column]) : 0;
}

// sum_k p_k e_k |v_kj| + |o_j| (sum_k p_k times the error of its weight) + eta_sp + tiles eta_tile
// + n times the smallest sum + for ring updates: tiles u32 max |v_kj|
double exact_bound(const SingleRow& row, std::size_t column) {
  const Model& model = row.model;
  const PWeights weights = p_weights(model, row.l, row.rounding);
  const double of_product =
      max_product_error(model, static_cast<std::int64_t>(row.keys), row.scaled_outside);
  const double tanh_error = row.cap > 0 ? model.tanh_error : 0;
  const double of_skipped = 1 / (1 - skipped_weight(row, row.p));
  double products = 0, of_o = 0;
  for (std::size_t k = 0; k < row.keys; ++k) {
    const double of_products =
        model.merges ? 0 : model.product_error * row.slope[k] * std::sqrt(row.dims * row.n2[k]);
    double of_weight = row.sd[k] + tanh_error * std::abs(row.capped[k]) +
                       (model.u_s > 0 ? model.s_roundings * model.u_s * row.rounded_size[k] : 0) +
                       model.exp2_error + of_products;
    for (const Numbers& shifts : row.tie_shifts) of_weight += std::abs(shifts[k]);
    if (std::exp(row.s[k] - row.m) < model.skipped_below) of_weight += of_skipped;
    const double near_zero = model.u_p * weights.largest_near_zero(row.p[k]);
    products += (row.p[k] * (of_weight + of_product) + near_zero) * std::abs(row.v[column][k]);
    of_o += row.p[k] * of_weight + (model.denominator_from_rounded_p ? near_zero : 0);
  }
  if (model.denominator_from_rounded_p) of_o += model.largest_p * model.u_p;
  if (row.sink)
    of_o += row.sink->p *
            (sink_sd(*row.sink) + model.s_roundings * model.u_s * rounded_size(model, *row.sink) +
             model.exp2_error);
  const double tiles = std::ceil(static_cast<double>(row.keys) / smallest_tile);
  double of_updates = 0;  // of a ring
  for (std::size_t k = 0; k < row.keys && model.ring_update; ++k)
    of_updates = std::max(of_updates, tiles * u32 * std::abs(row.v[column][k]));
  return products + std::abs(row.o[column]) * of_o + model.eta_split + tiles * model.eta_tile +
         static_cast<double>(row.keys) * smallest_sum(model, row.l, 1 / row.factor_of_sums) +
         of_updates;
}

// sum p_k^2 sd_k^2 + excess of cells + (sum p_k beta_k)^2 + (u32 (4 + |lse| + 2 sqrt n))^2
// + S rounded: max(like TS, (ln sum exp(round(s_k)) - lse)^2) + softcap, exp2: like TS, TE
// + denominator from rounded P: sum over cells of (sum w_k)^2
// + LSE without the row's bias: (4 u32 bias)^2
double exact_lse_variance(const SingleRow& row) {
  const Model& model = row.model;
  // If the spec's LSE excludes the sink, uses the p_k of the keys alone.
  const bool excludes = row.sink && !model.lse_includes_sink;
  const Sink* sink = row.sink && !excludes ? &*row.sink : nullptr;
  const double total = excludes ? row.sink->keys_total : row.l;
  const PWeights weights = p_weights(model, total, row.rounding, total / row.l);
  const Numbers p = each(row.keys, [&](std::size_t k) {
    return excludes ? std::exp(row.s[k] - row.sink->lse_keys) : row.p[k];
  });
  const Numbers logit = each(row.keys, [&](std::size_t k) { return p[k] * row.sd[k]; });
  double bias = 0;
  for (std::size_t k = 0; k < row.keys; ++k) bias += p[k] * row.beta[k];

  const auto n = static_cast<std::int64_t>(row.keys);
  double variance =
      sum_of_squares(logit) + excess(row.p_cells, logit) + square(bias) + lse_floor(row.lse, n);
  if (sink != nullptr) variance += square(sink->p * sink_sd(*sink));
  variance += of_query_ties(row, p, [](std::size_t) { return 1.0; }) +
              of_products(row, p, [](std::size_t) { return 1.0; }) +
              square(std::log(1 - skipped_weight(row, p))) / 1.2;
  for (const SharedRounding rounding : shared_roundings) {
    if (!is_made(rounding, row.model, row.cap)) continue;
    const double by_cells =
        of_shared_rounding(row, rounding, p, sink, [](std::size_t) { return 1.0; });
    const double shift =
        rounding == SharedRounding::s
            ? lse_shift(row.held.data(), p.data(), {0, n},
                        sink == nullptr ? std::nullopt : std::optional(held_sink(model, *sink)),
                        row.lse)
            : 0;
    variance += std::max(by_cells, square(shift));
  }
  if (model.denominator_from_rounded_p) {
    const Numbers shared = each(row.keys, [&](std::size_t k) { return weights.coherent(p[k]); });
    double independent = 0;
    for (const double of_key : p) independent += weights.independent(of_key);
    const double of_p = model.p_stochastic ? independent : sum_over_cells(row.p_cells, shared);
    variance += at_least_shared(square(model.u_p) * of_p, row.rounding.error_sum * row.l / total) +
                square(truncated_share(model) * (sink != nullptr ? 1 - sink->p : 1));
  }
  return with_stored_lse(model, row.lse + row.row_bias, variance + square(4 * u32 * row.row_bias));
}

}  // namespace plumbline
