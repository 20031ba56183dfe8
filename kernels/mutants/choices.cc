// Implements a change's choices: tile size, splits, dtypes and accumulators.
#include "kernels/mutants/choices.h"

#include <algorithm>
#include <cmath>

#include "kernels/mutants/stale.h"

namespace plumbline::mutants {

std::int64_t tile_keys(Change change) {
  switch (change) {
    case Change::legal_tile_16:
      return 16;
    case Change::legal_tile_48:
      return 48;
    case Change::legal_tile_128:
      return 128;
    case Change::race_autotuner:
      return is_odd_call() ? 64 : 32;
    default:
      return 32;
  }
}

// One split for every 128 keys, at most 4.
std::int64_t splits_of(Change change, std::int64_t keys) {
  if (change == Change::legal_one_split || normalises_p(change)) return 1;
  if (change == Change::legal_seven_splits) return 7;
  return std::clamp<std::int64_t>((keys + 127) / 128, 1, 4);
}

Sum sum_of_products(const plumbline_problem& problem, Mode mode, Change change) {
  if (change == Change::legal_multiply_then_add) return Sum::multiply_then_add;
  if (change == Change::legal_product_in_fp64) return Sum::fp64;
  // Tensor cores do not multiply fp32.
  const bool tensor_cores = problem.dtype_q != PLUMBLINE_F32 || mode == Mode::tf32;
  if (change == Change::legal_tensor_core_sm_80 && tensor_cores) return Sum::tensor_core_sm_80;
  if (change == Change::legal_tensor_core_sm_90 && tensor_cores) return Sum::tensor_core_sm_90;
  return Sum::fma;
}

std::uint32_t p_dtype(const plumbline_problem& problem, Mode mode, Change change) {
  if (change == Change::legal_p_in_fp32) return PLUMBLINE_F32;
  if (change == Change::precision_p_bf16 && mode != Mode::e4m3) return PLUMBLINE_BF16;
  if (change == Change::precision_p_e4m3 || mode == Mode::e4m3) return PLUMBLINE_E4M3;
  if (change == Change::precision_inputs_tf32 && problem.dtype_q == PLUMBLINE_F32)
    return PLUMBLINE_TF32;
  return mode == Mode::tf32 ? static_cast<std::uint32_t>(PLUMBLINE_TF32) : problem.dtype_q;
}

double p_prescale(Mode mode, Change change) {
  return mode == Mode::e4m3 && change != Change::legal_p_in_fp32 ? 256 : 1;
}

plumbline_accumulator accumulator(const plumbline_problem& problem, Mode mode, Change change) {
  const Sum sum = sum_of_products(problem, mode, change);
  if (sum == Sum::tensor_core_sm_80) return {PLUMBLINE_F32, 1, 24, 8};
  if (sum == Sum::tensor_core_sm_90) return {PLUMBLINE_F32, 1, 25, 16};
  return {PLUMBLINE_F32, 0, 24, 1};
}

float lazy_limit(Change change, std::uint32_t p_dtype, bool lse_wanted) {
  const bool e4m3 = p_dtype == PLUMBLINE_E4M3;
  const bool is_lazy =
      change == Change::legal_lazy_rescale || (change == Change::varies_lse && !lse_wanted);
  if (is_lazy) return e4m3 ? 0.5F : 8.0F;
  if (change == Change::softmax_lazy_by_step && p_dtype == PLUMBLINE_F16) return 8;
  if (change == Change::precision_lazy_overflow && e4m3) return 4;
  if (change == Change::precision_lazy_overflow && p_dtype == PLUMBLINE_F16) return 20;
  return 0;
}

float held_maximum(Change change, float m, float shared) {
  if (change == Change::legal_maximum_power_of_two) return std::ceil(m);
  if (change == Change::legal_maximum_bf16) {
    constexpr float ln2 = 0.693147181F;
    return round_one(PLUMBLINE_BF16, m * ln2) / ln2;
  }
  // At most 1 above the row's own maximum, so that P is at most halved and few P become subnormal.
  if (change == Change::legal_maximum_shared) return std::max(m, std::min(shared, m + 1));
  if (change == Change::softmax_max_of_block) return std::max(m, shared);
  return m;
}

}  // namespace plumbline::mutants
