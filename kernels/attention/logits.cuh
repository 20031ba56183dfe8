// The steps from q.k to the softmax: K's scale, softmax scale, softcap, ALiBi. The results are
// logits times log2(e), for exp2.
#pragma once

#include "kernels/attention/elements.cuh"
#include "kernels/attention/sequences.cuh"
#include "kernels/cpu/tanh_series.h"

namespace plumbline::attention {

inline constexpr float log2_e_float = static_cast<float>(log2_e);

// Returns the factor of q.k for the keys of one sample and key head; with a softcap, the factor in
// tanh's argument. Only fp8 K has a scale of its own.
template <class KvElement>
__device__ __forceinline__ float logit_scale_of(const Parameters& p, const Sample& sample,
                                                int head_kv) {
  if constexpr (std::is_same_v<KvElement, Fp8>)
    return p.logit_scale * head_value(p.k_scale, sample.index, head_kv);
  return p.logit_scale;
}

// ALiBi of one row of one head: subtracts slope |diagonal - key|. Slope 0: none.
struct Alibi {
  float slope;
  int diagonal;
};
__device__ __forceinline__ Alibi alibi_of(const Parameters& p, const Sample& sample, int position,
                                          int head) {
  return {log2_e_float * head_value(p.alibi_slopes, 0, head),
          position - sample.first_q + sample.length_kv - sample.length_q};
}
__device__ __forceinline__ float with_alibi(const Alibi& alibi, int key, float logit) {
  return fmaf(-alibi.slope, fabsf(static_cast<float>(alibi.diagonal - key)), logit);
}

// Applies softcap and ALiBi, if the problem has them, to the logit of one key.
__device__ __forceinline__ float adjusted_logit(const Parameters& p, const Alibi& alibi, int key,
                                                float logit) {
  if (p.softcap_log2 != 0) logit = p.softcap_log2 * tanh_of(logit);
  if (p.alibi_slopes.data != nullptr) logit = with_alibi(alibi, key, logit);
  return logit;
}

}  // namespace plumbline::attention
