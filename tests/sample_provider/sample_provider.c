/* The smallest provider for plumbline: one kernel, plain C, one file.
 *
 * sample/naive computes attention row by row in fp32, for padded layouts of fp32, fp16 and bf16
 * without masks:
 *   S[j] = scale * q . k[j]      P[j] = exp(S[j] - max S)      out = (sum_j P[j] v[j]) / sum_j P[j]
 * Start from here: let `query` accept more, replace `attend_row`, and declare your kernel's
 * roundings in `describe`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumbline_provider.h"

struct plumbline_plan {
  plumbline_problem problem;
};

/* ---- Numbers in memory ---- */

static float load(const plumbline_tensor* t, int64_t offset) {
  if (t->dtype == PLUMBLINE_F32) return ((const float*)t->data)[offset];
  if (t->dtype == PLUMBLINE_F16) return (float)((const _Float16*)t->data)[offset];
  uint32_t bits = (uint32_t)((const uint16_t*)t->data)[offset]
                  << 16; /* bf16 is the upper half of fp32 */
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(const plumbline_tensor* t, int64_t offset, float value) {
  if (t->dtype == PLUMBLINE_F32) {
    ((float*)t->data)[offset] = value;
  } else if (t->dtype == PLUMBLINE_F16) {
    ((_Float16*)t->data)[offset] = (_Float16)value;
  } else {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (!isnan(value)) bits += 0x7FFF + ((bits >> 16) & 1); /* round to nearest, ties to even */
    ((uint16_t*)t->data)[offset] = (uint16_t)(bits >> 16);
  }
}

/* ---- The kernel ---- */

/* Returns the offset of the tensor's row (sample, row, head), by strides; `row` counts padding. */
static int64_t row_offset(const plumbline_tensor* t, int64_t sample, int64_t row, int64_t head) {
  return sample * t->stride[0] + row * t->stride[1] + head * t->stride[2];
}

/* Returns the first valid row of a sample of `length` rows, padded to `extent`. */
static int64_t first_row(const plumbline_problem* p, int64_t extent, int64_t length) {
  return p->padding == PLUMBLINE_PADDING_LEFT ? extent - length : 0;
}

/* Computes an output row; `s` has room for seq_kv logits, `o` for head_dim_vo sums. */
static void attend_row(const plumbline_problem* p, const plumbline_tensors* t, int64_t sample,
                       int64_t row, int64_t head, float* s, float* o) {
  const int64_t head_kv = head / (p->heads_q / p->heads_kv);
  const int64_t keys = ((const int32_t*)t->seqlens_kv.data)[sample];
  const int64_t first_key = first_row(p, p->seq_kv, keys);
  const int64_t q_at = row_offset(&t->q, sample, row, head);

  float maximum = -INFINITY;
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t k_at = row_offset(&t->k, sample, first_key + j, head_kv);
    float dot = 0;
    for (int64_t d = 0; d < p->head_dim_qk; ++d)
      dot += load(&t->q, q_at + d) * load(&t->k, k_at + d);
    s[j] = dot * (float)p->scale;
    maximum = fmaxf(maximum, s[j]);
  }

  float denominator = 0;
  for (int64_t d = 0; d < p->head_dim_vo; ++d) o[d] = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t v_at = row_offset(&t->v, sample, first_key + j, head_kv);
    const float weight = expf(s[j] - maximum);
    denominator += weight;
    for (int64_t d = 0; d < p->head_dim_vo; ++d) o[d] += weight * load(&t->v, v_at + d);
  }

  /* A row that sees no key is 0, with LSE -infinity. */
  const int64_t out_at = row_offset(&t->out, sample, row, head);
  for (int64_t d = 0; d < p->head_dim_vo; ++d)
    store(&t->out, out_at + d, keys > 0 ? o[d] / denominator : 0);
  if (t->lse.rank != 0) {
    ((float*)t->lse.data)[row_offset(&t->lse, sample, row, head)] =
        keys > 0 ? maximum + logf(denominator) : -INFINITY;
  }
}

/* ---- The interface ---- */

static int is_known(uint32_t dtype) {
  return dtype == PLUMBLINE_F32 || dtype == PLUMBLINE_F16 || dtype == PLUMBLINE_BF16;
}

static const char* kernel_name(uint32_t kernel) {
  (void)kernel; /* there is one */
  return "naive";
}

/* There are no options. If some are given, plumbline's query before the first case fails. */
static int has_options;

static plumbline_status query(uint32_t kernel, const plumbline_problem* p,
                              const plumbline_device* device, char* reason, size_t reason_bytes) {
  (void)kernel;
  if (has_options) {
    snprintf(reason, reason_bytes, "unknown option (it takes none)");
    return PLUMBLINE_ERROR;
  }
  const char* why_not = NULL;
  if (device->memory_space != PLUMBLINE_HOST) why_not = "only the CPU is supported";
  if (p->layout != PLUMBLINE_PADDED_BSHD && p->layout != PLUMBLINE_PADDED_BHSD)
    why_not = "only padded layouts are supported";
  if (p->mask != PLUMBLINE_MASK_NONE || p->window_left >= 0 || p->window_right >= 0)
    why_not = "masks are not supported";
  if (p->softcap != 0 || p->has_alibi || p->has_sink)
    why_not = "softcap, ALiBi and sinks are not supported";
  if (!is_known(p->dtype_q) || !is_known(p->dtype_kv) || !is_known(p->dtype_out))
    why_not = "only fp32, fp16 and bf16 are supported";
  if (why_not == NULL) return PLUMBLINE_OK;
  snprintf(reason, reason_bytes, "%s", why_not);
  return PLUMBLINE_UNSUPPORTED;
}

/* Workspace: one row of logits, one of sums. plumbline owns it and checks its guard bytes. */
static plumbline_status prepare(uint32_t kernel, const plumbline_problem* problem,
                                const plumbline_tensors* tensors, const plumbline_device* device,
                                plumbline_plan** plan, uint64_t* workspace_bytes, char* reason,
                                size_t reason_bytes) {
  (void)kernel, (void)tensors, (void)device;
  *plan = malloc(sizeof **plan);
  if (*plan == NULL) {
    snprintf(reason, reason_bytes, "no memory for a plan");
    return PLUMBLINE_OUT_OF_MEMORY;
  }
  (*plan)->problem = *problem;
  *workspace_bytes = (uint64_t)(problem->seq_kv + problem->head_dim_vo) * sizeof(float);
  return PLUMBLINE_OK;
}

static plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                            char* reason, size_t reason_bytes) {
  (void)stream, (void)reason, (void)reason_bytes;
  const plumbline_problem* p = &plan->problem;
  float* s = tensors->workspace.data;
  float* o = s + p->seq_kv;
  for (int64_t sample = 0; sample < p->batch; ++sample) {
    const int64_t rows = ((const int32_t*)tensors->seqlens_q.data)[sample];
    const int64_t first = first_row(p, p->seq_q, rows);
    for (int64_t row = first; row < first + rows; ++row) {
      for (int64_t head = 0; head < p->heads_q; ++head)
        attend_row(p, tensors, sample, row, head, s, o);
    }
  }
  return PLUMBLINE_OK;
}

static plumbline_status describe(const plumbline_plan* plan, plumbline_description* d) {
  const plumbline_accumulator fp32 = {PLUMBLINE_F32, 0, 24, 1};
  snprintf(d->launched, sizeof d->launched, "naive");
  snprintf(d->build_id, sizeof d->build_id, "%s %s", __DATE__, __TIME__);
  snprintf(d->tensor_cores, sizeof d->tensor_cores, "none");
  d->padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
  /* The spec: only the fp32 sums and the output are rounded. Fields that stay 0 mean "not done". */
  d->spec.p_dtype = PLUMBLINE_F32;
  d->spec.p_prescale = 1;
  d->spec.split_partial_dtype = PLUMBLINE_F32;
  d->spec.qk_accumulator = fp32;
  d->spec.pv_accumulator = fp32;
  d->spec.out_dtype = plan->problem.dtype_out;
  d->promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
  d->promises.batch = PLUMBLINE_PROMISE_BITWISE;
  d->registers_per_thread = d->spill_bytes_per_thread = -1; /* not a GPU kernel */
  d->shared_memory_bytes = d->stack_bytes_per_thread = -1;
  return PLUMBLINE_OK;
}

static void destroy(plumbline_plan* plan) { free(plan); }

static const plumbline_provider provider = {
    .struct_size = sizeof(plumbline_provider),
    .abi_version = PLUMBLINE_ABI_VERSION,
    .name = "sample",
    .version = "1.0",
    .kernel_count = 1,
    .kernel_name = kernel_name,
    .query = query,
    .prepare = prepare,
    .run = run,
    .describe = describe,
    .destroy = destroy,
    /* .kernel_tensor_cores is NULL: "none" for all */
};

const plumbline_provider* plumbline_get_provider(uint32_t abi_version, const char* options) {
  has_options = options[0] != '\0';
  return abi_version == PLUMBLINE_ABI_VERSION ? &provider : NULL;
}
