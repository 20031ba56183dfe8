// A provider whose kernels each break one invariance and are right otherwise: asked in one way only, each gives a legal answer, so that no
// comparison with a reference can see it. Most choose between two legal roundings of P by something that must not matter; five are wrong
// where that something changes. `faithful` breaks none; `unpromised` is `solo` without a promise.
//
// Option: "splits=N", the number of KV splits.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "plain_attention.h"
#include "plumbline_provider.h"

struct plumbline_plan {
  uint32_t kernel;
  plumbline_problem problem;
};

namespace {

enum Kernel : uint32_t {
  run_to_run,
  solo,
  position,
  neighbour,
  chunked_prefill,
  prefill_decode,
  split,
  page_order,
  page_size,
  layout,
  padding,
  workspace,
  capacity,
  strides,
  lse,
  two_scales,
  faithful,
  unpromised
};
constexpr const char* names[] = {"run_to_run", "solo",       "position",  "neighbour",  "chunked_prefill", "prefill_decode",
                                 "split",      "page_order", "page_size", "layout",     "padding",         "workspace",
                                 "capacity",   "strides",    "lse",       "two_scales", "faithful",        "unpromised"};
constexpr uint64_t workspace_bytes = 64;

int splits = 1;

float keep(float p) { return p; }
float to_bf16(float p) {
  const auto bits = std::bit_cast<uint32_t>(p);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u);
}

bool is_padded(const plumbline_problem& p) { return p.layout == PLUMBLINE_PADDED_BSHD || p.layout == PLUMBLINE_PADDED_BHSD; }
const int32_t* indices(const plumbline_tensor& tensor) { return static_cast<const int32_t*>(tensor.data); }
uint16_t& bits_at(const plumbline_tensor& tensor, int64_t offset) { return static_cast<uint16_t*>(tensor.data)[offset]; }
float value_at(const plumbline_tensor& tensor, int64_t offset) { return std::bit_cast<float>(uint32_t{bits_at(tensor, offset)} << 16); }

int32_t longest(const plumbline_problem& p, const plumbline_tensors& t) {
  int32_t most = 0;
  for (int64_t sample = 0; sample < p.batch; ++sample) most = std::max(most, indices(t.seqlens_kv)[sample]);
  return most;
}

bool pages_descend(const plumbline_problem& p, const plumbline_tensors& t) {
  const int32_t* const pages = indices(t.page_table);
  const int64_t columns = t.page_table.extent[1];
  for (int64_t sample = 0; sample < p.batch; ++sample) {
    for (int64_t i = 1; i < columns && pages[sample * columns + i] >= 0; ++i) {
      if (pages[sample * columns + i] > pages[sample * columns + i - 1]) return false;
    }
  }
  return true;
}

// Whether the kernel takes its other path. Both are legal.
bool rounds_p(uint32_t kernel, const plumbline_problem& p, const plumbline_tensors& t) {
  switch (kernel) {
    case solo:
    case unpromised:
      return p.batch == 1;
    case position:  // a scheduler that starts with the longer of both ends
      return indices(t.seqlens_kv)[0] > indices(t.seqlens_kv)[p.batch - 1];
    case neighbour:  // a heuristic that asks for the longest sample
      return longest(p, t) > 100;
    case chunked_prefill:
      return p.seq_q < 64;
    case prefill_decode:
      return p.seq_q == 1;
    case page_order:
      return pages_descend(p, t);
    case page_size:
      return p.page_size != 16;
    case layout:
      return p.layout == PLUMBLINE_RAGGED_THD;
    case workspace:  // a counter that is believed to be reset
      return static_cast<const unsigned char*>(t.workspace.data)[0] == 0;
    case capacity:
      return is_padded(p) ? t.k.extent[1] > 100 : t.page_table.extent[1] > 10;
    case lse:
      return p.lse_wanted == 0;
    default:
      return false;
  }
}

plumbline_tensor believed_packed(plumbline_tensor tensor) {
  int64_t stride = 1;
  for (auto i = static_cast<int>(tensor.rank) - 1; i >= 0; --i) {
    tensor.stride[i] = stride;
    stride *= tensor.extent[i];
  }
  return tensor;
}

// Keys behind the last get the weight 0, and are multiplied with it.
void add_padding_times_zero(const plumbline_problem& p, const plumbline_tensors& t) {
  for (int64_t sample = 0; sample < p.batch; ++sample) {
    const int64_t keys = indices(t.seqlens_kv)[sample];
    if (!is_padded(p) || p.padding == PLUMBLINE_PADDING_LEFT || keys >= t.v.extent[1]) continue;
    const float behind = value_at(t.v, sample * t.v.stride[0] + keys * t.v.stride[1]);
    uint16_t& out = bits_at(t.out, sample * t.out.stride[0]);
    if (std::isnan(0.0F * behind)) out = 0x7FC0;
  }
}

void scale_output(const plumbline_tensors& t, float factor) {
  for (uint64_t i = 0; i < t.out.bytes / 2; ++i) {
    bits_at(t.out, static_cast<int64_t>(i)) =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(value_at(t.out, static_cast<int64_t>(i)) * factor) >> 16);
  }
}

// The sum of the first key: what a cache of an earlier call would be keyed by, and is not.
float first_key(const plumbline_problem& p, const plumbline_tensors& t) {
  float sum = 0;
  for (int64_t d = 0; d < p.head_dim_qk; ++d) sum += value_at(t.k, d);
  return sum;
}

bool compute(const plumbline_plan& plan, plumbline_problem p, plumbline_tensors t) {
  static double scale_of_first_call = 0;
  static float key_of_last_call = NAN;
  if (scale_of_first_call == 0) scale_of_first_call = p.scale;
  if (plan.kernel == two_scales) p.scale = scale_of_first_call;
  if (plan.kernel == strides) t.q = believed_packed(t.q), t.k = believed_packed(t.k), t.v = believed_packed(t.v);
  if (!plain_attention(p, t, rounds_p(plan.kernel, p, t) ? to_bf16 : keep)) return false;
  if (plan.kernel == padding) add_padding_times_zero(p, t);
  if (plan.kernel == split && splits > 2) scale_output(t, 1.5F);
  const float key = first_key(p, t);
  if (plan.kernel == run_to_run && key_of_last_call == key_of_last_call && key != key_of_last_call) scale_output(t, 1.5F);
  key_of_last_call = key;
  return true;
}

// ---- The interface -----------------------------------------------------------------------------------------------------------------

plumbline_status refuse(plumbline_status status, char* reason, size_t reason_bytes, const char* text) {
  std::snprintf(reason, reason_bytes, "%s", text);
  return status;
}

plumbline_status query(uint32_t, const plumbline_problem* problem, const plumbline_device*, char* reason, size_t reason_bytes) {
  if (problem->dtype_q == PLUMBLINE_BF16 && problem->dtype_out == PLUMBLINE_BF16) return PLUMBLINE_OK;
  return refuse(PLUMBLINE_UNSUPPORTED, reason, reason_bytes, "takes bf16 only");
}

plumbline_status prepare(uint32_t kernel, const plumbline_problem* problem, const plumbline_tensors*, const plumbline_device*,
                         plumbline_plan** plan, uint64_t* bytes, char*, size_t) {
  *plan = new (std::nothrow) plumbline_plan{kernel, *problem};
  *bytes = kernel == workspace || kernel == faithful ? workspace_bytes : 0;
  return *plan == nullptr ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_OK;
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void*, char* reason, size_t reason_bytes) {
  if (compute(*plan, plan->problem, *tensors)) return PLUMBLINE_OK;
  return refuse(PLUMBLINE_ERROR, reason, reason_bytes, "dtype not known");
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* d) {
  std::snprintf(d->launched, sizeof d->launched, "%s, %d splits", names[plan->kernel], splits);
  std::snprintf(d->build_id, sizeof d->build_id, "invariance-test-1");
  std::snprintf(d->tensor_cores, sizeof d->tensor_cores, "none");
  d->padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
  d->spec.p_dtype = plan->problem.dtype_q;
  d->spec.p_prescale = 1;
  d->spec.split_partial_dtype = PLUMBLINE_F32;
  d->spec.qk_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.pv_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.out_dtype = plan->problem.dtype_out;
  constexpr uint32_t bitwise = PLUMBLINE_PROMISE_BITWISE;
  if (plan->kernel != unpromised) {
    d->promises = {sizeof(plumbline_promises), bitwise, bitwise, bitwise, bitwise, bitwise, bitwise, bitwise};
  }
  d->registers_per_thread = d->spill_bytes_per_thread = -1;
  d->shared_memory_bytes = d->stack_bytes_per_thread = -1;
  return PLUMBLINE_OK;
}

void destroy(plumbline_plan* plan) { delete plan; }

const plumbline_provider provider{sizeof(plumbline_provider),
                                  PLUMBLINE_ABI_VERSION,
                                  "invariant",
                                  "1.0 (tests)",
                                  std::size(names),
                                  0,
                                  [](uint32_t kernel) { return names[kernel]; },
                                  query,
                                  prepare,
                                  run,
                                  describe,
                                  destroy,
                                  nullptr,
                                  nullptr};

}  // namespace

const plumbline_provider* plumbline_get_provider(uint32_t, const char* options) {
  const std::string option = options;
  if (option.starts_with("splits=")) splits = std::stoi(option.substr(7));
  return &provider;
}
