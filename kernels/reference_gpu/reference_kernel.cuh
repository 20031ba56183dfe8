// The reference in fp64 on a GPU: attention and the variances of its legal error. A block computes
// one query row at a time, straight from the formulas of docs/judging-formulas.md ("Exact scales";
// TP, TL, ... are names from there).
//
//   s_k, n2_k           a thread for each key, over the head dimension
//   p_k, lse            softmax over the block
//   cells of P          labels of all keys, sorted
//   o_j, TP ... TR      a thread for each column: over the keys in order, then by cells
//   lse_variance        one thread of the last warp, meanwhile; it also sets `repeats`
//   cells of S, TS      sorted again, if S is rounded
//
// Rows whose P take few values or whose addends repeat are only marked here (`repeats`). The CPU's
// reference computes them. This code shares nothing with it, and is slow: sums over keys are serial
// within a column.
#pragma once

#include "kernels/reference_gpu/numbers.cuh"

namespace plumbline::reference_gpu {

inline constexpr double u32 = 0x1p-24;
inline constexpr double kappa = 0.18;           // mean square of a rounding error, in units of u^2
inline constexpr double kappa_coherent = 0.55;  // mean square if many terms share the error
inline constexpr double root_kappa_coherent = 0.7416198487095663;  // its square root
inline constexpr double min_error = 0x1p-48;  // least sqrt(TA), in units of v_unit

// The current row, the same for all threads.
struct Row {
  std::int64_t n;                             // visible keys
  const std::int64_t *k_offsets, *v_offsets;  // from its first visible key on
  double *s, *p, *sd;                         // [n]
  std::uint64_t* label;                       // [n], with room for the next power of two
  std::int32_t* order;
  double maximum, total, lse;  // m, l, m + ln l
  double mean_bias;            // sum p_k beta_k
  double v_unit;
};

// The rounding error of a key's P: near_zero() is e_k / u_P. independent() is the variance of an
// error of this key alone, in units of u_P^2; coherent() is w_k / u_P, the standard deviation of an
// error that all keys of a cell share.
struct PRounding {
  double near_zero_limit, one;
  __device__ double near_zero(double p) const { return fmin(near_zero_limit, p * one); }
  __device__ double independent(double p) const { return kappa * p * p + square(near_zero(p)) / 3; }
  __device__ double coherent(double p) const { return root_kappa_coherent * fmax(p, near_zero(p)); }
};

__device__ inline PRounding p_rounding(const RowParameters& g, const Row& row) {
  return {g.model.eta_p / row.total / g.model.u_p, 1 / g.model.u_p};
}

__device__ inline double steps(std::int64_t terms, const plumbline_reference_accumulator& a) {
  return ceil(static_cast<double>(terms) / a.step);
}

// Computes s_k = scale q . k, and stores scale sqrt(n2_k) in sd_k for now.
__device__ inline void find_logits(const RowParameters& g, const Row& row, const double* q) {
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads) {
    double raw = 0, squares = 0;
    for (std::int64_t d = 0; d < g.dim_qk; ++d) {
      const double product = q[d] * element(g.dtype, g.k, row.k_offsets[k] + d);
      raw += product;
      squares += product * product;
    }
    row.s[k] = raw * g.scale;
    row.sd[k] = g.scale * sqrt(squares);
  }
}

__device__ inline void softmax(Row& row, double* warps) {
  double maximum = -INFINITY;
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads)
    maximum = fmax(maximum, row.s[k]);
  row.maximum = max_over_block(maximum, warps);
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads)
    sum += row.p[k] = exp(row.s[k] - row.maximum);
  row.total = sum_over_block(sum, warps);
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads) row.p[k] /= row.total;
  row.lse = row.maximum + log(row.total);
}

// Computes sd_k and beta_k, and the labels of P's cells.
__device__ inline void find_logit_errors(const RowParameters& g, Row& row, double* warps) {
  const plumbline_reference_accumulator& qk = g.model.qk;
  const auto dims = static_cast<double>(g.dim_qk);
  double bias = 0;
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads) {
    const double magnitude = fabs(row.s[k]), norm = row.sd[k];
    const double e0 = 0.5 * sqrt(dims) * qk.u * norm + 4 * qk.u * magnitude + u32;
    const double m = qk.toward_zero != 0 ? magnitude + norm : 0;
    const double beta =
        norm > 0
            ? m * (qk.f * sqrt(dims) / 6 * magnitude / norm + steps(g.dim_qk, qk) * qk.f_out / 12)
            : 0;
    row.sd[k] = sqrt(square(e0) + square(beta) + square(m * qk.f) * dims / 6);
    bias += row.p[k] * beta;
    // Keys with equal rounded logits have equal P.
    const double t = g.model.u_s > 0
                         ? exp(rounded_s(row.s[k], g.model) - rounded_s(row.maximum, g.model))
                         : row.p[k] * row.total;
    row.label[k] = p_cell(t, g.model);
  }
  row.mean_bias = sum_over_block(bias, warps);
}

// Calls key(k, shared) for every key in the order of cells, and end(shared) after each cell.
// `shared` is true if the cell has several keys.
template <class Key, class End>
__device__ void for_cells(const Row& row, Key key, End end) {
  for (std::int64_t i = 0; i < row.n; ++i) {
    const bool with_previous = i > 0 && row.label[i - 1] == row.label[i];
    const bool with_next = i + 1 < row.n && row.label[i + 1] == row.label[i];
    key(row.order[i], with_previous || with_next);
    if (!with_next) end(with_previous);
  }
}

// The sum over cells of (sum of their terms)^2, and the sum of all terms^2.
struct CellSum {
  double cell = 0, coherent = 0, independent = 0;
  __device__ void add(double term) {
    cell += term;
    independent += term * term;
  }
  __device__ void end_cell() {
    coherent += cell * cell;
    cell = 0;
  }
  // Returns what shared errors add: 0 if they cancel, NaN if a term is NaN.
  __device__ double excess() const { return coherent <= independent ? 0 : coherent - independent; }
};

// A column's sums over the keys in key order.
struct ColumnSums {
  double p_squared = 0;                     // sum p_k^2 v_kj^2
  double range = 0;                         // R_j
  double p_independent = 0, logit = 0;      // for TP, for TL
  double signed_loss = 0, square_loss = 0;  // for TA toward zero
  double worst = 0;                         // for the bound
};

// Returns the worst-case relative error of each product of P and V, except that of the logit.
__device__ inline double product_error(const RowParameters& g, const Row& row) {
  const plumbline_reference_accumulator& pv = g.model.pv;
  const double truncation = pv.toward_zero != 0 ? steps(row.n, pv) * pv.f_out : 0;
  return g.model.u_p + pv.u * sqrt(static_cast<double>(row.n)) + truncation + g.model.u_split;
}
__device__ inline double logit_bound(const RowParameters& g, const Row& row, std::int64_t k) {
  return row.sd[k] + g.model.u_s * fabs(row.s[k]);
}

// As in harness/reference/model.h: a product far below the last bit of a large sum is lost whole.
inline constexpr double swamped = 4.477;
__device__ inline double counted_loss(double loss, double limit) {
  return limit > 0 ? loss * (1 + swamped * fmin(1.0, 2 - 2 * loss / limit)) : 0;
}

__device__ inline double find_o(const RowParameters& g, const Row& row, std::int64_t column,
                                ColumnSums& sums) {
  double o = 0, high = 0, low = 0;
  for (std::int64_t k = 0; k < row.n; ++k) {
    const double product = row.p[k] * element(g.dtype, g.v, row.v_offsets[k] + column);
    o += product;
    high = fmax(high, o);
    low = fmin(low, o);
    sums.p_squared += product * product;
  }
  sums.range = high - low;
  return o;
}

__device__ inline void sum_over_keys(const RowParameters& g, const Row& row, std::int64_t column,
                                     double o, ColumnSums& sums) {
  const PRounding rounding = p_rounding(g, row);
  const bool about_o = g.model.denominator_from_rounded_p != 0;
  const double relative = product_error(g, row), limit = g.model.pv.f * sums.range;
  for (std::int64_t k = 0; k < row.n; ++k) {
    const double p = row.p[k], v = element(g.dtype, g.v, row.v_offsets[k] + column), from_o = v - o;
    sums.p_independent += rounding.independent(p) * square(about_o ? from_o : v);
    sums.logit += square(p * row.sd[k] * from_o);
    const double loss = fmin(limit, p * fabs(v));
    sums.signed_loss += copysign(counted_loss(loss, limit), v);
    sums.square_loss += loss * loss;
    sums.worst +=
        (p * (relative + logit_bound(g, row, k)) + g.model.u_p * rounding.near_zero(p)) * fabs(v);
  }
}

// Computes the bound, and the sum of all variance terms except TS.
__device__ inline void finish_column(const RowParameters& g, const Row& row, std::int64_t column,
                                     double bound_of_o, double* variance, double* bound,
                                     double* o_out) {
  ColumnSums sums;
  const double o = find_o(g, row, column, sums);
  sum_over_keys(g, row, column, o, sums);

  const PRounding rounding = p_rounding(g, row);
  const bool about_o = g.model.denominator_from_rounded_p != 0;
  CellSum of_p, of_logit;
  for_cells(
      row,
      [&](std::int64_t k, bool shared) {
        if (!shared) return;
        const double v = element(g.dtype, g.v, row.v_offsets[k] + column);
        of_p.add(rounding.coherent(row.p[k]) * (about_o ? v - o : v));
        of_logit.add(row.p[k] * row.sd[k] * (v - o));
      },
      [&](bool shared) {
        if (!shared) return;
        of_p.end_cell();
        of_logit.end_cell();
      });

  const auto n = static_cast<double>(row.n);
  const plumbline_reference_accumulator& pv = g.model.pv;
  const double tp = square(g.model.u_p) * (sums.p_independent + of_p.excess());
  const double tl = sums.logit + of_logit.excess();
  double ta = square(pv.u) * (n / 3 + 4) * (0.3 * square(o) + sums.p_squared) +
              square(min_error * row.v_unit);
  if (pv.toward_zero != 0) {
    const double drift =
        (fabs(sums.signed_loss) / 2 + steps(row.n, pv) * pv.f_out / 2 * sums.range) / 3;
    ta += square(drift) + sums.square_loss / 6;
  }
  double tr = 0;
  if (g.model.u_split > 0) {
    tr = kappa * square(g.model.u_split) * fmax(square(sums.range), square(o) + sums.p_squared) +
         square(g.model.eta_split) / 3;
  }
  *o_out = o;
  *variance = tp + tl + ta + tr;
  *bound = sums.worst + fabs(o) * bound_of_o + g.model.eta_split;
}

// Returns the worst-case relative error of o from the denominator, a sum over all weights.
__device__ inline double bound_of_o(const RowParameters& g, const Row& row, double* warps) {
  const PRounding rounding = p_rounding(g, row);
  const bool rounded = g.model.denominator_from_rounded_p != 0;
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads) {
    sum += row.p[k] * logit_bound(g, row, k) +
           (rounded ? g.model.u_p * rounding.near_zero(row.p[k]) : 0);
  }
  return sum_over_block(sum, warps) + (rounded ? g.model.u_p : 0);
}

// Returns lse_sigma^2 without the part from rounding S.
__device__ inline double lse_variance(const RowParameters& g, const Row& row) {
  const PRounding rounding = p_rounding(g, row);
  double logit = 0, weights = 0;
  for (std::int64_t k = 0; k < row.n; ++k) {
    logit += square(row.p[k] * row.sd[k]);
    weights += square(rounding.coherent(row.p[k]));
  }
  CellSum of_logit, of_p;
  for_cells(
      row,
      [&](std::int64_t k, bool shared) {
        if (!shared) return;
        of_logit.add(row.p[k] * row.sd[k]);
        of_p.add(rounding.coherent(row.p[k]));
      },
      [&](bool shared) {
        if (!shared) return;
        of_logit.end_cell();
        of_p.end_cell();
      });
  double variance = logit + of_logit.excess() + square(row.mean_bias) +
                    square(u32 * (4 + fabs(row.lse) + 2 * sqrt(static_cast<double>(row.n))));
  if (g.model.denominator_from_rounded_p != 0)
    variance += square(g.model.u_p) * (weights - of_p.independent + of_p.coherent);
  return variance;
}

// Returns true if an octave of t = exp(s_k - m) has few significands. With c = sum p_k^2 of a cell,
// this holds if the sum of c^2 over its cells of several keys exceeds an eighth of (sum p_k^2)^2 of
// the octave. Ignores octaves with less than 1/1024 of the row's sum of p_k^2.
__device__ inline bool has_few_significands(const Row& row) {
  constexpr int octaves = 64;
  double squares[octaves], of_cells[octaves];
  for (int g = 0; g < octaves; ++g) squares[g] = of_cells[g] = 0;
  int of_cell = -1;  // the octave of the cell's first key
  double keys = 0, first = 0;
  for_cells(
      row,
      [&](std::int64_t k, bool) {
        const double t = row.p[k] * row.total * (1 + 1e-12);
        int exponent = 0;
        frexp(t, &exponent);  // t in [2^(exponent - 1), 2^exponent)
        const int g = !(t > 0) || exponent <= 1 - octaves ? octaves - 1
                      : exponent >= 1                     ? 0
                                                          : 1 - exponent;
        if (of_cell < 0) of_cell = g, first = square(row.p[k]);
        squares[g] += square(row.p[k]);
        keys += 1;
      },
      [&](bool shared) {
        if (shared) of_cells[of_cell] += square(keys * first);
        of_cell = -1;
        keys = 0;
      });
  double total = 0;
  for (const double of_octave : squares) total += of_octave;
  for (int g = 0; g < octaves; ++g) {
    if (of_cells[g] > square(squares[g]) / 8 && 1024 * squares[g] >= total) return true;
  }
  return false;
}

// Returns true if the row is flat: its logits' standard deviation, weighted by P, is at most 2 u_P.
__device__ inline bool is_flat(const RowParameters& g, const Row& row) {
  double sum = 0, first = 0, second = 0;
  for (std::int64_t k = 0; k < row.n; ++k) {
    const double p = row.p[k], x = row.s[k] - row.s[0];
    sum += p;
    first += p * x;
    second += p * x * x;
  }
  return second - square(first) / sum <= square(2 * g.model.u_p);
}

// Returns S_t of TA to all threads: the largest share of keys, among at most 128 sampled ones,
// whose P lie within 8 u32 of each other.
__device__ inline double repeated_share(const Row& row, double* warps) {
  constexpr std::int64_t most = 128;
  const std::int64_t sampled = row.n < most ? row.n : most;
  const auto p_of = [&](std::int64_t i) {
    if (row.n <= most) return row.p[i];
    const std::uint64_t fraction = static_cast<std::uint32_t>(i) * 2654435761U;
    return row.p[(fraction * static_cast<std::uint64_t>(row.n)) >> 32];
  };
  double largest = 0;
  for (std::int64_t i = threadIdx.x; i < sampled; i += block_threads) {
    const double from = p_of(i);
    if (!(from >= u32)) continue;
    double count = 0;
    for (std::int64_t other = 0; other < sampled; ++other) {
      const double above = p_of(other) - from;
      if (above >= 0 && above <= 8 * u32) count += 1;
    }
    largest = fmax(largest, count);
  }
  return max_over_block(largest, warps) / static_cast<double>(sampled);
}

// Returns the variance from rounding S, of terms p_k |s_k| factor(k). Labels must be sorted.
template <class Factor>
__device__ double s_variance(const RowParameters& g, const Row& row, Factor factor) {
  CellSum sum;
  for_cells(
      row, [&](std::int64_t k, bool) { sum.add(row.p[k] * fabs(row.s[k]) * factor(k)); },
      [&](bool) { sum.end_cell(); });
  return kappa_coherent * square(g.model.u_s) * fmax(sum.coherent, sum.independent);
}

__device__ inline void add_s_rounding(const RowParameters& g, const Row& row, std::int64_t index) {
  for (std::int64_t k = threadIdx.x; k < row.n; k += block_threads)
    row.label[k] = s_cell(row.s[k], g.model);
  sort_labels(row.label, row.order, row.n);
  const auto thread = static_cast<std::int64_t>(threadIdx.x);
  if (thread < column_threads) {
    for (std::int64_t column = thread; column < g.dim_vo; column += column_threads) {
      const std::int64_t at = index * g.dim_vo + column;
      const auto from_o = [&](std::int64_t k) {
        return element(g.dtype, g.v, row.v_offsets[k] + column) - g.o[at];
      };
      g.variance[at] += s_variance(g, row, from_o);
    }
  } else if (thread == column_threads) {
    // How far rounding these logits shifts the LSE.
    const double maximum = rounded_s(row.maximum, g.model);
    double sum = 0;
    for (std::int64_t k = 0; k < row.n; ++k) sum += exp(rounded_s(row.s[k], g.model) - maximum);
    const double shift = maximum + log(sum) - row.lse;
    g.lse_variance[index] +=
        fmax(s_variance(g, row, [](std::int64_t) { return 1.0; }), square(shift));
  }
}

__device__ inline Row row_at(const RowParameters& g, std::int64_t index) {
  const plumbline_reference_row& request = g.rows[index];
  const plumbline_reference_group& group = g.groups[request.group];
  const std::int64_t first = group.first + request.begin, scratch = blockIdx.x * g.scratch.capacity;
  Row row{};
  row.n = request.end - request.begin;
  row.k_offsets = g.k_offsets + first;
  row.v_offsets = g.v_offsets + first;
  row.s = g.scratch.s + scratch;
  row.p = g.scratch.p + scratch;
  row.sd = g.scratch.sd + scratch;
  row.label = g.scratch.label + scratch;
  row.order = g.scratch.order + scratch;
  row.v_unit = g.group_unit[request.group];
  return row;
}

// Runs with any number of blocks, block_threads threads and row_shared_bytes of shared memory.
__global__ void reference_rows(const RowParameters g) {
  auto* const q = reinterpret_cast<double*>(simt::dynamic_shared());  // [dim_qk]
  double* const warps = q + g.dim_qk;                                 // [block_threads / 32]
  const auto thread = static_cast<std::int64_t>(threadIdx.x);
  for (std::int64_t index = blockIdx.x; index < g.row_count; index += gridDim.x) {
    Row row = row_at(g, index);
    for (std::int64_t d = thread; d < g.dim_qk; d += block_threads)
      q[d] = g.q[index * g.dim_qk + d];
    __syncthreads();
    find_logits(g, row, q);
    softmax(row, warps);
    find_logit_errors(g, row, warps);
    const double of_o = bound_of_o(g, row, warps);
    const double repeated = repeated_share(row, warps);
    sort_labels(row.label, row.order, row.n);
    if (thread < column_threads) {
      for (std::int64_t column = thread; column < g.dim_vo; column += column_threads) {
        const std::int64_t at = index * g.dim_vo + column;
        finish_column(g, row, column, of_o, g.variance + at, g.bound + at, g.o + at);
      }
    } else if (thread == column_threads) {
      g.lse[index] = row.lse;
      g.lse_variance[index] = lse_variance(g, row);
      g.repeats[index] =
          repeated > 0.25 || (g.model.u_p > 0 && (has_few_significands(row) || is_flat(g, row)))
              ? 1
              : 0;
    }
    if (g.model.u_s > 0) {
      __syncthreads();  // All threads are done with P's cells.
      add_s_rounding(g, row, index);
    }
  }
}

// Computes a power of two u with max |v| / u in [1/2, 1) over a group's keys; 1 if V is all zeros
// or has infinity or NaN. One block per group.
__global__ void group_units(const UnitParameters g) {
  auto* const warps = reinterpret_cast<double*>(simt::dynamic_shared());
  const plumbline_reference_group group = g.groups[blockIdx.x];
  double largest = 0, infinite = 0;
  for (std::int64_t i = threadIdx.x; i < group.count * g.dim_vo; i += block_threads) {
    const double v =
        fabs(element(g.dtype, g.v, g.v_offsets[group.first + i / g.dim_vo] + i % g.dim_vo));
    if (!(v < INFINITY)) infinite = 1;
    largest = fmax(largest, v);
  }
  largest = max_over_block(largest, warps);
  infinite = max_over_block(infinite, warps);
  if (threadIdx.x != 0) return;
  int exponent = 0;
  if (infinite == 0 && largest > 0) frexp(largest, &exponent);
  g.group_unit[blockIdx.x] = ldexp(1.0, exponent);
}

}  // namespace plumbline::reference_gpu
