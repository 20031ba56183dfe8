// The smallest provider that can be audited, called "tiny": plain attention with at most one bug.
//
//   correct, legal_rounded_p         no bug: P in fp32, P rounded to the dtype of Q
//   mask_last_key                    the last key of each sample is left out
//   scale_percent                    the softmax scale is 1 % too large
//   lse_base                         the LSE is in base 2
//   lse_ulp                          the LSE is one ulp too large, which no test can detect
//   inert                            the bug needs a feature that no problem has
//
// Option "flagged": legal_rounded_p keeps three bits of P.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "plain_attention.h"
#include "plumbline_provider.h"

struct plumbline_plan {
  uint32_t kernel;
  plumbline_problem problem;
};

namespace {

constexpr const char* names[] = {"correct",  "legal_rounded_p", "mask_last_key", "scale_percent",
                                 "lse_base", "lse_ulp",         "inert"};
enum Kernel : uint32_t {
  correct,
  legal_rounded_p,
  mask_last_key,
  scale_percent,
  lse_base,
  lse_ulp,
  inert
};
bool flagged = false;

float keep(float p) { return p; }
float to_fp16(float p) { return static_cast<float>(static_cast<_Float16>(p)); }
float to_three_bits(float p) {
  int exponent = 0;
  const float fraction = std::frexp(p, &exponent);
  return std::ldexp(std::nearbyint(fraction * 8), exponent - 3);
}

plumbline_status refuse(char* reason, size_t reason_bytes, const char* text) {
  std::snprintf(reason, reason_bytes, "%s", text);
  return PLUMBLINE_UNSUPPORTED;
}

const char* kernel_name(uint32_t kernel) { return names[kernel]; }

plumbline_status query(uint32_t, const plumbline_problem* problem, const plumbline_device* device,
                       char* reason, size_t reason_bytes) {
  if (device->memory_space != PLUMBLINE_HOST)
    return refuse(reason, reason_bytes, "runs on the CPU only");
  if (problem->layout > PLUMBLINE_PADDED_BHSD)
    return refuse(reason, reason_bytes, "padded layouts only");
  if (problem->dtype_q == PLUMBLINE_BF16) return refuse(reason, reason_bytes, "no bf16");
  if (const char* why_not = plain_attention_refusal(*problem))
    return refuse(reason, reason_bytes, why_not);
  return PLUMBLINE_OK;
}

plumbline_status prepare(uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors*, const plumbline_device*, plumbline_plan** plan,
                         uint64_t* workspace_bytes, char*, size_t) {
  *plan = new plumbline_plan{kernel, *problem};
  *workspace_bytes = 0;
  return PLUMBLINE_OK;
}

void change_lse(const plumbline_problem& problem, const plumbline_tensors& tensors,
                float (*change)(float)) {
  const auto count = problem.batch * problem.heads_q * problem.seq_q;
  auto* lse = static_cast<float*>(tensors.lse.data);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isnan(lse[i])) lse[i] = change(lse[i]);  // padded rows keep their poison
  }
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void*, char* reason,
                     size_t reason_bytes) {
  plumbline_problem problem = plan->problem;
  plumbline_tensors changed = *tensors;
  const auto* lengths = static_cast<const int32_t*>(tensors->seqlens_kv.data);
  std::vector<int32_t> shorter(lengths, lengths + problem.batch);
  if (plan->kernel == mask_last_key) {
    for (int32_t& length : shorter) --length;
    changed.seqlens_kv.data = shorter.data();
  }
  if (plan->kernel == scale_percent) problem.scale *= 1.01;
  const bool rounds = plan->kernel == legal_rounded_p && problem.dtype_q == PLUMBLINE_F16;
  if (!plain_attention(problem, changed, !rounds ? keep : flagged ? to_three_bits : to_fp16)) {
    std::snprintf(reason, reason_bytes, "a dtype is not known");
    return PLUMBLINE_ERROR;
  }
  if (tensors->lse.rank == 0) return PLUMBLINE_OK;
  if (plan->kernel == lse_base)
    change_lse(problem, *tensors, [](float x) { return x * 1.44269504F; });
  if (plan->kernel == lse_ulp)
    change_lse(problem, *tensors, [](float x) { return std::nextafter(x, 1e30F); });
  return PLUMBLINE_OK;
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* d) {
  std::snprintf(d->launched, sizeof d->launched, "plain attention, %s", names[plan->kernel]);
  std::snprintf(d->build_id, sizeof d->build_id, "test-1");
  std::snprintf(d->tensor_cores, sizeof d->tensor_cores, "none");
  d->padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
  d->spec.p_dtype =
      plan->kernel == legal_rounded_p ? plan->problem.dtype_q : uint32_t{PLUMBLINE_F32};
  d->spec.p_prescale = 1;
  d->spec.split_partial_dtype = PLUMBLINE_F32;
  d->spec.qk_accumulator = d->spec.pv_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.out_dtype = plan->problem.dtype_out;
  d->promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
  d->registers_per_thread = d->spill_bytes_per_thread = -1;
  d->shared_memory_bytes = d->stack_bytes_per_thread = -1;
  return PLUMBLINE_OK;
}

void destroy(plumbline_plan* plan) { delete plan; }

const plumbline_provider provider = [] {
  plumbline_provider made{};
  made.struct_size = sizeof(plumbline_provider);
  made.abi_version = PLUMBLINE_ABI_VERSION;
  made.name = "tiny";
  made.version = "1.0 (tests)";
  made.kernel_count = 7;
  made.kernel_name = kernel_name;
  made.query = query;
  made.prepare = prepare;
  made.run = run;
  made.describe = describe;
  made.destroy = destroy;
  return made;
}();

}  // namespace

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(uint32_t,
                                                                             const char* options) {
  flagged = std::strcmp(options, "flagged") == 0;
  return &provider;
}
