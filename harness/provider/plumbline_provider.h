// The interface between plumbline and kernels: a C ABI. A provider is a shared library that exports
// `plumbline_get_provider` and offers kernels. For each case plumbline calls, in a worker process:
//
//   query      is this problem supported on this device? if not: why not, in a user's words
//   prepare    plan it; say how much workspace `run` needs (plumbline owns, poisons and fences
//              workspace and outputs, and what a planner asks for)
//   run        compute, once or often; on a GPU enqueue on the stream given, not the default one
//   describe   what was really launched, and which roundings the kernel makes (its rounding spec)
//   destroy    free the plan
//
// Rules
//  - Every struct begins with `struct_size`. Fields are only ever appended, so a field is present
//    where it lies within struct_size. Outgoing structs (`plumbline_description`) are zeroed and
//    sized by plumbline; write only what fits.
//  - No exception may cross this interface. A kernel that cannot get memory returns
//    PLUMBLINE_OUT_OF_MEMORY.
//  - Inputs are mapped read-only. Outputs are poisoned with NaN before each run, workspace before
//    the first run of a plan: write every element of every valid row.
//  - Strides and extents are in elements. Read strides; do not assume a layout is contiguous.
//  - Compile with -fvisibility=hidden so that two providers never clash.
// tests/sample_provider has the smallest provider in C and one in C++ over plumbline_provider.hpp;
// kernels/cpu/provider.cc is a full example.
#ifndef PLUMBLINE_PROVIDER_H_
#define PLUMBLINE_PROVIDER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_ABI_VERSION 1u
#define PLUMBLINE_EXPORT __attribute__((visibility("default")))

// ---- Words ----

typedef enum plumbline_status {
  PLUMBLINE_OK = 0,
  PLUMBLINE_UNSUPPORTED = 1,  // a valid problem that this kernel does not take; give a reason
  PLUMBLINE_OUT_OF_MEMORY = 2,
  PLUMBLINE_ERROR = 3,  // anything else that failed; give a reason
  // Of query and prepare: the device is not there or cannot be used (no GPU, no driver, no such
  // ordinal); give a reason. The case is reported as not measured, and no support table is asked.
  // Of other functions it is an error, and of all of them to a plumbline older than this word.
  PLUMBLINE_NO_DEVICE = 4,
} plumbline_status;

typedef enum plumbline_dtype {
  PLUMBLINE_DTYPE_NONE = 0,
  PLUMBLINE_F32 = 1,
  PLUMBLINE_F16 = 2,
  PLUMBLINE_BF16 = 3,
  PLUMBLINE_E4M3 = 4,  // OCP fp8 e4m3fn: no infinity, maximum 448
  PLUMBLINE_E5M2 = 5,
  PLUMBLINE_TF32 = 6,  // only as a rounding target in a spec; stored as F32
  PLUMBLINE_F64 = 7,
  PLUMBLINE_I32 = 8,  // index arrays
} plumbline_dtype;

typedef enum plumbline_memory_space {
  PLUMBLINE_HOST = 0,
  PLUMBLINE_CUDA = 1,
  PLUMBLINE_EMULATED = 2,  // host memory, run by the emulator as if on a GPU
} plumbline_memory_space;

typedef enum plumbline_layout {
  PLUMBLINE_PADDED_BSHD = 0,  // q[b, s, h, d] contiguous in this order
  PLUMBLINE_PADDED_BHSD = 1,  // the same tensors with the heads dimension outermost of (h, s)
  PLUMBLINE_RAGGED_THD = 2,   // q[total_q, h, d], k[total_kv, h, d] with cu_seqlens
  PLUMBLINE_PAGED_NHD = 3,    // q as ragged; k, v in pages [page, token, h, d]
  PLUMBLINE_PAGED_HND = 4,    // q as ragged; k, v in pages [page, h, token, d]
} plumbline_layout;

typedef enum plumbline_mask {
  PLUMBLINE_MASK_NONE = 0,
  // query i sees keys j <= i (PyTorch is_causal)
  PLUMBLINE_MASK_CAUSAL_TOP_LEFT = 1,
  // query i sees keys j <= i + len_kv - len_q (FlashAttention >= 2.1, FlashInfer)
  PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT = 2,
  // query i sees the keys whose bit is set in tensors.mask; there is no window
  PLUMBLINE_MASK_CUSTOM = 3,
} plumbline_mask;

typedef enum plumbline_padding {
  PLUMBLINE_PADDING_RIGHT = 0,  // the valid rows of a sample are [0, len)
  PLUMBLINE_PADDING_LEFT = 1,   // the valid rows of a sample are [seq - len, seq)
} plumbline_padding;

// What a kernel is asked. An attention kernel never gets a merge, nor a merge kernel attention:
// plumbline_provider.kernel_question says which a kernel answers.
typedef enum plumbline_question {
  PLUMBLINE_ATTENTION = 0,
  // States of parts, each an output O and the LSE of its logits, are merged into one state.
  PLUMBLINE_MERGE = 1,
} plumbline_question;

// What a kernel does with the output of padded query rows of a padded layout.
typedef enum plumbline_padding_policy {
  PLUMBLINE_PADDED_ROWS_ZEROS = 0,      // writes zeros, as Transformers around FlashAttention-2
  PLUMBLINE_PADDED_ROWS_UNTOUCHED = 1,  // leaves them as they were
  // treats them as queries: they attend to the sample's valid keys (SDPA)
  PLUMBLINE_PADDED_ROWS_ATTENDED = 2,
  PLUMBLINE_PADDED_ROWS_ANYTHING = 3,  // nothing looks at them
} plumbline_padding_policy;

// The m of P = exp(S - m).
typedef enum plumbline_p_max {
  // the largest logit of some keys seen so far: it may lag behind, and it may begin at the sink
  PLUMBLINE_P_MAX_RUNNING = 0,
  // the largest logit of the keys seen so far, sinks left out: the largest P is 1
  PLUMBLINE_P_MAX_ONE = 1,
  PLUMBLINE_P_MAX_CEIL2 = 2,  // as RUNNING, in units of log2(e) rounded up to a whole number
  PLUMBLINE_P_MAX_BF16 = 3,   // as RUNNING, rounded to bf16
  PLUMBLINE_P_MAX_FREE = 4,   // any number, such as one maximum for several rows
} plumbline_p_max;

typedef enum plumbline_promise {
  PLUMBLINE_PROMISE_NONE = 0,      // says nothing
  PLUMBLINE_PROMISE_ROUNDING = 1,  // within rounding
  PLUMBLINE_PROMISE_BITWISE = 2,   // the same bits
} plumbline_promise;

// ---- The problem ----

// `seq_q` and `seq_kv` are maxima over the batch; the index arrays of plumbline_tensors have the
// lengths of each sample. Masks are relative to a sample's own valid rows, not its padded extent.
typedef struct plumbline_problem {
  uint32_t struct_size;
  uint32_t dtype_q;    // plumbline_dtype
  uint32_t dtype_kv;   // plumbline_dtype
  uint32_t dtype_out;  // plumbline_dtype
  uint32_t layout;     // plumbline_layout
  uint32_t mask;       // plumbline_mask
  uint32_t padding;    // plumbline_padding; only meaningful in padded layouts
  uint32_t lse_wanted;
  int64_t batch;
  int64_t heads_q;
  int64_t heads_kv;  // divides heads_q; query head h uses key head h / (heads_q / heads_kv)
  int64_t seq_q;
  int64_t seq_kv;
  int64_t head_dim_qk;
  int64_t head_dim_vo;
  int64_t total_q;      // sum of the query lengths (ragged and paged layouts)
  int64_t total_kv;     // sum of the key lengths
  int64_t page_size;    // tokens in a page; 0 unless paged
  int64_t page_count;   // pages in the pool
  int64_t window_left;  // keys visible before the diagonal of `mask`'s alignment; -1 = all
  // keys visible after it; -1 = all. With MASK_NONE the diagonal is the bottom-right one.
  int64_t window_right;
  double scale;    // multiplies q.k; already resolved (1/sqrt(head_dim_qk) by default)
  double softcap;  // 0 = off: logits become softcap * tanh(logit / softcap)
  // 1: -slope |i + len_kv - len_q - j| is added after scale and softcap; tensors.alibi_slopes
  uint32_t has_alibi;
  // 1: each query head has one more logit in the denominator, without a value; tensors.sinks
  uint32_t has_sink;
  // Tokens of a sample that share an fp8 scale; 0: one scale serves all tokens. Not 0 only for
  // providers with PLUMBLINE_FEATURE_FP8_SCALES.
  int64_t scale_tokens;
  uint32_t question;        // plumbline_question
  uint32_t merge_lse_base;  // of a merge: base of the LSEs given and returned: 0 = e, 2 = two
} plumbline_problem;

// rank 0: absent. `bytes` counts from `data`, element (0, 0, …), to the end of what may be touched.
typedef struct plumbline_tensor {
  uint32_t struct_size;
  uint32_t dtype;         // plumbline_dtype
  uint32_t memory_space;  // plumbline_memory_space
  int32_t device;         // ordinal within the memory space
  uint32_t rank;
  uint32_t reserved;
  int64_t extent[4];
  int64_t stride[4];
  void* data;
  uint64_t bytes;
} plumbline_tensor;

// Logical dimension order is fixed per layout; strides say how it lies in memory:
//   padded  q    [batch, seq_q, heads_q, head_dim_qk]
//           k    [batch, seq_kv, heads_kv, head_dim_qk]
//           v    [batch, seq_kv, heads_kv, head_dim_vo]
//           out  [batch, seq_q, heads_q, head_dim_vo], lse [batch, seq_q, heads_q]
//   ragged  q    [total_q, heads_q, head_dim_qk]
//           k    [total_kv, heads_kv, head_dim_qk]
//           v    [total_kv, heads_kv, head_dim_vo]
//           out  [total_q, heads_q, head_dim_vo], lse [total_q, heads_q]
//   paged   q, out and lse as ragged
//           k    [page_count, page_size, heads_kv, head_dim_qk]
//           v    [page_count, page_size, heads_kv, head_dim_vo]
//
// Index arrays are int32 and lie in host memory, for a device kernel too. cu_seqlens_q and
// cu_seqlens_kv, [batch + 1], and seqlens_q and seqlens_kv, [batch], are always present;
// page_table, [batch, pages of the longest sample] with -1 where an entry is not used, only when
// paged. All are contiguous.
//
// device_cu_seqlens_q and the four beside it are these arrays in the memory space of Q, complete
// before `prepare` and only read: a write to them is found, as to an input. Where Q lies in host
// memory (PLUMBLINE_HOST, PLUMBLINE_EMULATED) their `data` is that of the arrays above.
//
// The other tensors lie in the memory space of Q:
//   k_scale, v_scale     float32 [batch, heads_kv], where K and V are fp8: the number is scale *
//                        stored. A stride is 0 where one value serves all of a dimension. Where
//                        scale_tokens is not 0, [batch, heads_kv, blocks], blocks = ceil(seq_kv /
//                        scale_tokens): key j of a sample has that of block j / scale_tokens.
//   q_scale              likewise where Q is fp8: float32 [batch, heads_q], the query heads of a
//                        key head sharing one, or [batch, heads_q, ceil(seq_q / scale_tokens)],
//                        query row i of a sample having that of block i / scale_tokens
//   alibi_slopes, sinks  float32 [heads_q], in natural units
//   mask                 int32 [batch, seq_q, (seq_kv + 31) / 32]: bit j % 32 of word j / 32 is set
//                        where row i sees key j. Rows and keys count a sample's valid ones.
//
// A merge has the same tensors. Its tokens are the samples, and a token's parts are its keys: seq_q
// is 1, seq_kv the most parts that a token has, heads_q equals heads_kv. dtype_q and dtype_kv are
// both that of the parts' O.
//   v    O of the parts, [batch, seq_kv, heads, head_dim_vo]; ragged [total_kv, …], where
//        cu_seqlens_kv is what FlashInfer calls indptr
//   k    float32: the LSE of each part; head_dim_qk is 1
//   q    float32: 1 in every element; it need not be read
//   out  sum_i w_i O_i with w_i = b^(LSE_i - LSE), b = e or 2
//   lse  log_b sum_i b^LSE_i
// An LSE given is finite, or -infinity where a part has no keys. The O of such a part may hold
// anything, NaN too, and is in no sum. Where no part has keys, out is 0 and lse -infinity.
// FlashAttention's combine keeps to this; vLLM's, SGLang's and FlashInfer's merges multiply such an
// O by 0 and give NaN where no part has keys.
//
// K and V may be views into one buffer, and V a part of K: read strides.
// lse is float32: the logarithm of the sum of exp(logit) over the keys that a row sees, natural
// unless the kernel's description says base 2, in the same rows as out.
//   a row that sees no key  out is 0 and lse -infinity. With a sink that is part of the LSE, lse is
//                           the sink, up to rounding (in base 2 the sink times log2(e)).
//   a padded query row      out follows the padding policy. lse may hold anything; its bytes count
//                           where bits are compared from run to run.
//
// outputs, [output_count], names every output of the call: out, lse, and what the kernel declares
// in plumbline_provider.kernel_outputs, float32 in the shape of lse, -infinity where a row sees no
// key.
typedef struct plumbline_output {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  // "lse"
  plumbline_tensor tensor;
} plumbline_output;

typedef struct plumbline_tensors {
  uint32_t struct_size;
  // In `run` on an emulated device: of the threads of a block that could go on, 1: the last one
  // does, 0: the first. What differs lacks a barrier.
  uint32_t threads_reversed;
  plumbline_tensor q, k, v, out, lse;
  plumbline_tensor cu_seqlens_q, cu_seqlens_kv, seqlens_q, seqlens_kv, page_table;
  // rank 1, bytes; as large as prepare asked, 256-byte aligned, poisoned
  plumbline_tensor workspace;
  plumbline_tensor mask, alibi_slopes, sinks;
  plumbline_tensor q_scale;  // only for providers with PLUMBLINE_FEATURE_FP8_SCALES
  plumbline_tensor k_scale, v_scale;

  // An older plumbline ends here: has_field of plumbline_provider.hpp looks at its struct_size.
  plumbline_tensor device_cu_seqlens_q, device_cu_seqlens_kv, device_seqlens_q, device_seqlens_kv;
  plumbline_tensor device_page_table;
  // The stream that `run` will get. Work that `prepare` enqueues there is done before `run` is
  // called; what a copy reads on the host has to last until then.
  void* stream;
  // Memory of a plan; `prepare` calls it with allocate_context, and in `run` it is NULL. `bytes` in
  // the memory space of Q, 256-byte aligned, fenced, poisoned once, and freed by plumbline after
  // `destroy`; a write outside of the nth piece names "plan memory n". *out is NULL for 0 bytes and
  // with PLUMBLINE_OUT_OF_MEMORY and PLUMBLINE_ERROR.
  plumbline_status (*allocate)(void* context, uint64_t bytes, void** out);
  void* allocate_context;
  uint32_t output_count;
  uint32_t reserved;
  const plumbline_output* outputs;
} plumbline_tensors;

typedef struct plumbline_device {
  uint32_t struct_size;
  uint32_t memory_space;  // plumbline_memory_space
  int32_t ordinal;
  uint32_t reserved;
  char arch[32];  // "x86-64-v3", "sm_90", "emulated:sm_90"
} plumbline_device;

// ---- The rounding spec ----

// How a matrix product accumulates. A dot product of length D is summed in steps of
// `products_per_step` terms; each step aligns its terms to the largest and keeps `fraction_bits`
// fraction bits.
typedef struct plumbline_accumulator {
  uint32_t dtype;              // PLUMBLINE_F32 or PLUMBLINE_F16
  uint32_t toward_zero;        // 1: truncates (tensor cores), 0: rounds to nearest (FMA)
  uint32_t fraction_bits;      // F; 24 for fp32 FMA, 23..25 on tensor cores, 13 for Hopper fp8
  uint32_t products_per_step;  // L; 1 for FMA
} plumbline_accumulator;

// What a kernel rounds: the legal error follows from it (docs/judging-formulas.md). A contract pins
// it: declaring more than the contract allows is a failure by itself.
typedef struct plumbline_rounding_spec {
  uint32_t struct_size;
  uint32_t p_dtype;   // what P = exp(S - m) is rounded to before P V; F32 = not rounded
  double p_prescale;  // power of two P is multiplied by before that rounding; 1 = none
  uint32_t denominator_from_rounded_p;  // 1: the softmax denominator sums P after that rounding
  uint32_t s_rounded;  // 16-bit dtype S is rounded to, after softcap and ALiBi; NONE = not rounded
  uint32_t q_prescaled;  // dtype Q * scale * log2(e) is rounded to first; NONE = not done
  // dtype of stored split-KV partial outputs; F32 also when there is no split
  uint32_t split_partial_dtype;
  plumbline_accumulator qk_accumulator;
  plumbline_accumulator pv_accumulator;
  double exp2_rel_error;  // relative error of exp2 beyond 2 ulp of fp32; 0 = within 2 ulp
  double tanh_rel_error;  // likewise for the softcap's tanh
  // Of fp8 Q, K and V. NONE: widened as stored, which rounds nothing, with the scales applied to
  // the sums (V's also to P before its rounding, where tokens have their own). F16, BF16: scale *
  // stored, in fp32, is rounded to it (nearest, ties to even) before the products. For fp32 inputs
  // TF32: Q, K and V are rounded to tf32 (likewise) before the products.
  uint32_t kv_dequantized_to;
  uint32_t out_dtype;          // dtype of the output
  uint32_t lse_base;           // 0 = e, 2 = two; of a merge that of its problem, merge_lse_base
  uint32_t lse_excludes_sink;  // 1: an attention sink is not part of the LSE
} plumbline_rounding_spec;

// More of what a kernel rounds; 0 in a field is what most kernels do, and what an older plumbline
// takes for granted.
typedef struct plumbline_more_roundings {
  uint32_t struct_size;
  uint32_t p_normalized;   // 1: P / l is rounded, l the softmax denominator, and not P
  uint32_t p_max;          // plumbline_p_max
  uint32_t p_toward_zero;  // 1: P is truncated to p_dtype
  // 1: S is rounded to s_rounded before the scale, too: round(scale * round(q.k))
  uint32_t s_rounded_twice;
  uint32_t q_prescaled_without_log2e;  // 1: q_prescaled is what Q * scale is rounded to
  uint32_t o_between_tiles;  // 16-bit dtype that O is rounded to after each tile of keys; NONE
  uint32_t out_toward_zero;  // 1: the output is truncated to out_dtype
  uint32_t lse_dtype;        // 16-bit dtype that the LSE is rounded to; NONE = fp32
  uint32_t reserved;
  double reciprocal_rel_error;  // relative error of 1 / l beyond 2 ulp of fp32
} plumbline_more_roundings;

// What a kernel promises for each transformation of a problem. plumbline_promise values.
typedef struct plumbline_promises {
  uint32_t struct_size;
  uint32_t run_to_run;  // the same call twice
  uint32_t batch;       // a sample alone or within any batch, at any position, beside any neighbour
  uint32_t layout;      // padded = ragged = paged
  uint32_t page;        // page permutation and page size
  uint32_t split;       // number of KV splits
  uint32_t prefill_decode;  // the last rows of a prefill = the decode of the same tokens
  uint32_t lse;             // whether LSE is asked for
} plumbline_promises;

typedef struct plumbline_description {
  uint32_t struct_size;
  uint32_t padding_policy;  // plumbline_padding_policy
  char launched[256];       // what really ran: kernel names, tile sizes, splits
  char build_id[64];        // changes whenever the code that computes changes
  char tensor_cores[8];     // "on", "off" or "none"
  plumbline_rounding_spec spec;
  plumbline_promises promises;
  int32_t registers_per_thread;  // -1 = unknown or not a GPU kernel, here and below
  int32_t spill_bytes_per_thread;
  int64_t shared_memory_bytes;
  int64_t stack_bytes_per_thread;
  // "sm_90": the architecture it ran on, where the device's name ("cuda:0") leaves it open; else ""
  char device_arch[32];
  plumbline_more_roundings more_roundings;
} plumbline_description;

// ---- The device's memory, streams and clocks ----

// What a code of plumbline_device_memory means. Zeroed and sized by plumbline; write what fits.
typedef struct plumbline_device_error {
  uint32_t struct_size;
  uint32_t out_of_memory;  // 1: the device has too little free memory, and nothing else is wrong
  char name[64];           // "cudaErrorIllegalAddress"
  char text[192];          // "an illegal memory access was encountered"
  char remedy[192];        // what a user can do about it; "" where that is not known
} plumbline_device_error;

// What a device is. Likewise.
typedef struct plumbline_device_facts {
  uint32_t struct_size;
  uint32_t reserved;
  char model[128];        // "NVIDIA H100 80GB HBM3"
  char arch[32];          // "sm_90"
  char driver[32];        // "580.65.06"
  char runtime[32];       // of the GPU runtime that launches: "13.0"
  uint64_t memory_bytes;  // of the device, all of it
  uint64_t l2_bytes;      // of the last cache before that memory; 0 = not known
} plumbline_device_facts;

// How plumbline, which links no GPU toolkit, gets memory, streams and clocks on a device. NULL in
// plumbline_provider for host-only providers. plumbline calls these functions from one thread. They
// return 0, otherwise the device's error code. `stream` NULL is the default stream.
typedef struct plumbline_device_memory {
  uint32_t struct_size;
  uint32_t reserved;
  // At least 256-byte aligned.
  int32_t (*allocate)(const plumbline_device* device, uint64_t bytes, void** out);
  int32_t (*release)(const plumbline_device* device, void* pointer);
  // Complete when they return: what is enqueued afterwards, on any stream, sees the copy. They wait
  // for no stream but the default one.
  int32_t (*copy_to_device)(const plumbline_device* device, void* device_to, const void* host_from,
                            uint64_t bytes);
  int32_t (*copy_to_host)(const plumbline_device* device, void* host_to, const void* device_from,
                          uint64_t bytes);
  // Waits for all that was enqueued on `stream`. Returns the error of what failed there, too.
  int32_t (*synchronize)(const plumbline_device* device, void* stream);

  // The first release of this table ends here, and any function below may be NULL: kernels then run
  // on the default stream, times are those of the host's clock with a warm cache, and errors are
  // numbers (2 from `allocate` means out of memory, as CUDA and HIP number it).

  // How many devices of this memory space the provider sees: their ordinals are 0 to *out - 1. An
  // error says why there is none; `plumbline doctor` shows it.
  int32_t (*device_count)(int32_t* out);
  int32_t (*facts)(const plumbline_device* device, plumbline_device_facts* facts);
  int32_t (*describe_error)(int32_t code, plumbline_device_error* error);

  // A stream that neither waits for the default stream nor holds it up (cudaStreamNonBlocking).
  // plumbline passes one to `run`, behind work that brings inputs and poisons outputs and
  // workspace, and lets that work begin only once `run` has returned: a kernel that is launched on
  // another stream reads poison, and what it writes is overwritten. This needs the five functions
  // from here to enqueue_call.
  int32_t (*create_stream)(const plumbline_device* device, void** out);
  int32_t (*destroy_stream)(const plumbline_device* device, void* stream);
  // They do not wait. Both ends of a copy lie in device memory; a fill writes `byte`, 0 to 255.
  int32_t (*enqueue_copy)(const plumbline_device* device, void* to, const void* from,
                          uint64_t bytes, void* stream);
  int32_t (*enqueue_fill)(const plumbline_device* device, void* at, int32_t byte, uint64_t bytes,
                          void* stream);
  // function(argument) on any thread of the host, once all before it on the stream is done; what is
  // behind it begins when it has returned (cudaLaunchHostFunc). The function calls nothing of this
  // table, and may block for up to a second.
  int32_t (*enqueue_call)(const plumbline_device* device, void (*function)(void* argument),
                          void* argument, void* stream);

  // Events mark points of a stream. `elapsed_ns` waits for `end` and gives the nanoseconds between
  // two points of one stream. Times by the device's clock need these four, create_stream,
  // destroy_stream, enqueue_copy and enqueue_fill, and `facts` with l2_bytes, to flush that cache.
  int32_t (*create_event)(const plumbline_device* device, void** out);
  int32_t (*destroy_event)(const plumbline_device* device, void* event);
  int32_t (*record_event)(const plumbline_device* device, void* event, void* stream);
  int32_t (*elapsed_ns)(const plumbline_device* device, void* begin, void* end, double* ns);
} plumbline_device_memory;

// ---- The provider ----

typedef struct plumbline_plan plumbline_plan;  // the provider's own

// What a provider must know of to be asked for it. Its kernels may still refuse.
typedef enum plumbline_feature {
  // fp8 Q with tensors.q_scale, and scales of fp8 Q, K and V for tokens or blocks of them
  PLUMBLINE_FEATURE_FP8_SCALES = 1,
  // the devices of PLUMBLINE_EMULATED, whose tensors lie in the host's memory: they may be named
  // ("emulated:sm_90") where no other provider has them
  PLUMBLINE_FEATURE_EMULATED = 2,
} plumbline_feature;

// `reason` buffers receive a NUL-terminated sentence unless the status is PLUMBLINE_OK.
typedef struct plumbline_provider {
  uint32_t struct_size;
  uint32_t abi_version;  // PLUMBLINE_ABI_VERSION it was compiled with
  const char* name;      // "cpu"; kernels are called name/kernel
  const char* version;   // of the library behind it, with commit where known
  uint32_t kernel_count;
  uint32_t reserved;
  const char* (*kernel_name)(uint32_t kernel);
  plumbline_status (*query)(uint32_t kernel, const plumbline_problem* problem,
                            const plumbline_device* device, char* reason, size_t reason_bytes);
  // `tensors` holds every tensor but the workspace; only the contents of the index arrays and of
  // their copies on the device may be read here.
  plumbline_status (*prepare)(uint32_t kernel, const plumbline_problem* problem,
                              const plumbline_tensors* tensors, const plumbline_device* device,
                              plumbline_plan** plan, uint64_t* workspace_bytes, char* reason,
                              size_t reason_bytes);
  plumbline_status (*run)(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                          char* reason, size_t reason_bytes);
  plumbline_status (*describe)(const plumbline_plan* plan, plumbline_description* description);
  void (*destroy)(plumbline_plan* plan);
  // NULL: host only. Not changed once the provider was returned
  const plumbline_device_memory* memory;
  // "on", "off" or "none" for each kernel, as described; NULL: "none" for all. Suites select by it
  const char* (*kernel_tensor_cores)(uint32_t kernel);
  // plumbline_feature bits. Problems that need another are unsupported, and the provider not asked.
  uint64_t features;
  // plumbline_question of each kernel; NULL: attention for all.
  uint32_t (*kernel_question)(uint32_t kernel);
  // The outputs that each kernel returns beyond out and lse, with commas between them; NULL, or ""
  // of a kernel: none. A name that plumbline does not know is an error.
  const char* (*kernel_outputs)(uint32_t kernel);
} plumbline_provider;

// Returns NULL if the provider cannot serve `abi_version`. `options` is the text after ':' in
// `--provider ./mine.so:options`, or "".
typedef const plumbline_provider* (*plumbline_get_provider_function)(uint32_t abi_version,
                                                                     const char* options);
PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(uint32_t abi_version,
                                                                  const char* options);

#ifdef __cplusplus
}
#endif
#endif  // PLUMBLINE_PROVIDER_H_
