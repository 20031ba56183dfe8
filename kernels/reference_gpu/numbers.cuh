// Numbers of the reference kernels: elements, cells (keys that round alike), sums over a block.
#pragma once

#include <math.h>
#include <string.h>

#include "harness/provider/plumbline_provider.h"
#include "kernels/attention/simt.h"
#include "kernels/reference_gpu/row.h"

namespace plumbline::reference_gpu {

__device__ inline double square(double x) { return x * x; }

__device__ inline std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Returns element `at` of a stored tensor, exactly.
__device__ inline double element(std::uint32_t dtype, const void* tensor, std::int64_t at) {
  if (dtype == PLUMBLINE_F32) return static_cast<double>(static_cast<const float*>(tensor)[at]);
  const std::uint32_t bits = static_cast<const std::uint16_t*>(tensor)[at];
  if (dtype == PLUMBLINE_BF16) return static_cast<double>(__uint_as_float(bits << 16U));
  const std::uint32_t exponent = bits >> 10U & 31U, fraction = bits & 1023U;
  const double sign = (bits >> 15U) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : static_cast<double>(NAN);
  if (exponent == 0) return sign * fraction * 0x1p-24;
  return sign * static_cast<double>(__uint_as_float((exponent + 112U) << 23U | fraction << 13U));
}

// Returns the cell of an unnormalised P value t = exp(s - m). All t below eta_p are one cell. If P
// is subnormal, cells are steps of eta_p / 4. If P is normal, t is rounded to p_cell_bits
// significand bits. The sign bit, free because t >= 0, marks cells of subnormal P.
__device__ inline std::uint64_t p_cell(double t, const plumbline_reference_model& model) {
  constexpr std::uint64_t subnormal = std::uint64_t{1} << 63U;
  if (t < model.eta_p) return subnormal;
  if (t < model.p_normal)
    return subnormal + static_cast<std::uint64_t>(rint(t / (model.eta_p / 4)));
  const int dropped = 53 - model.p_cell_bits;
  return (bits_of(t) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
}

// Returns a logit as S stores it.
__device__ inline double rounded_s(double s, const plumbline_reference_model& model) {
  const double binade = ldexp(1.0, s == 0 ? -1022 : ilogb(s));
  const double step = 2 * fmax(model.u_s * binade, model.eta_s);
  return rint(s / step) * step;
}

// Returns the cell of a logit that a kernel rounds to S's dtype. `s`, not yet rounded, is truncated
// to s_cell_bits significand bits, so that the edges of cells are rounding boundaries.
__device__ inline std::uint64_t s_cell(double s, const plumbline_reference_model& model) {
  return bits_of(s + 0.0) >> (53 - model.s_cell_bits);  // + 0.0 puts both zeros into one cell
}

// Return the sum, or the maximum, to every thread of the block. `warps` is shared memory with one
// number per warp.
template <class Combine>
__device__ double over_block(double value, double* warps, Combine combine) {
  for (int step = 16; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, step));
  const int thread = static_cast<int>(threadIdx.x);
  if (thread % 32 == 0) warps[thread / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int warp = 1; warp < block_threads / 32; ++warp) value = combine(value, warps[warp]);
  __syncthreads();
  return value;
}
__device__ inline double sum_over_block(double value, double* warps) {
  return over_block(value, warps, [](double a, double b) { return a + b; });
}
__device__ inline double max_over_block(double value, double* warps) {
  return over_block(value, warps, [](double a, double b) { return fmax(a, b); });
}

// Sorts label[0, n) and sets order[i] to the former index of label[i]. Equal labels stay in the
// order of their indices. Both arrays need room for n elements, n rounded up to a power of two.
__device__ inline void sort_labels(std::uint64_t* label, std::int32_t* order, std::int64_t n) {
  const auto thread = static_cast<std::int64_t>(threadIdx.x);
  std::int64_t size = 1;
  while (size < n) size *= 2;
  for (std::int64_t i = thread; i < size; i += block_threads) {
    order[i] = static_cast<std::int32_t>(i < n ? i : 0);
    if (i >= n) label[i] = ~std::uint64_t{0};
  }
  __syncthreads();
  for (std::int64_t run = 2; run <= size; run *= 2) {
    for (std::int64_t distance = run / 2; distance > 0; distance /= 2) {  // bitonic
      for (std::int64_t pair = thread; pair < size / 2; pair += block_threads) {
        const std::int64_t low = 2 * pair - (pair & (distance - 1)), high = low + distance;
        const bool ascending = (low & run) == 0;
        const bool greater =
            label[low] > label[high] || (label[low] == label[high] && order[low] > order[high]);
        if (greater != ascending) continue;
        const std::uint64_t l = label[low];
        label[low] = label[high];
        label[high] = l;
        const std::int32_t o = order[low];
        order[low] = order[high];
        order[high] = o;
      }
      __syncthreads();
    }
  }
}

}  // namespace plumbline::reference_gpu
