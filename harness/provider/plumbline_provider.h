// The interface between plumbline and kernels: a C ABI. A provider is a shared library that exports
// `plumbline_get_provider` and offers kernels. For each case plumbline calls, in a worker process:
//
//   query      is this problem supported on this device? if not, give a reason for the user
//   prepare    plan it and return the workspace size of `run`. plumbline owns workspace, outputs
//              and plan memory, poisons them and puts guard bytes around them
//   run        compute, once or often; on a GPU enqueue on the given stream, not the default one
//   describe   report what was really launched, and the kernel's roundings (its rounding spec)
//   destroy    free the plan
//
// Rules
//  - Every struct begins with `struct_size`. Fields are only ever appended, so a field is present
//    if it lies within struct_size. plumbline zeroes and sizes structs that a provider fills
//    (`plumbline_description`); write only what fits.
//  - No exception may cross this interface. A kernel that cannot get memory returns
//    PLUMBLINE_OUT_OF_MEMORY.
//  - Inputs are mapped read-only. Write every element of every valid row: outputs are NaN before a
//    run (once before timed runs). The workspace is poisoned before the first run of a plan.
//  - Strides and extents are in elements. Read strides; do not assume a layout is contiguous.
//  - Compile with -fvisibility=hidden so that two providers never clash.
// Examples: tests/sample_provider (C; C++ with plumbline_provider.hpp), kernels/cpu/provider.cc.
#ifndef PLUMBLINE_PROVIDER_H_
#define PLUMBLINE_PROVIDER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_ABI_VERSION 1u
#define PLUMBLINE_EXPORT __attribute__((visibility("default")))

// ---- Enums ----

typedef enum plumbline_status {
  PLUMBLINE_OK = 0,
  PLUMBLINE_UNSUPPORTED = 1,  // a valid problem that this kernel does not support; give a reason
  PLUMBLINE_OUT_OF_MEMORY = 2,
  PLUMBLINE_ERROR = 3,  // any other failure; give a reason
  // From query and prepare: no GPU, no driver, no such ordinal; give a reason. The case is reported
  // as not measured. From other functions, and for older plumblines, this status is an error.
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
  PLUMBLINE_PADDED_BHSD = 1,  // contiguous in the order b, h, s, d; extents stay [b, s, h, d]
  PLUMBLINE_RAGGED_THD = 2,   // q[total_q, h, d], k[total_kv, h, d] with cu_seqlens
  PLUMBLINE_PAGED_NHD = 3,    // q as in RAGGED_THD; k, v in pages [page, token, h, d]
  PLUMBLINE_PAGED_HND = 4,    // q as in RAGGED_THD; k, v in pages [page, h, token, d]
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

// A kernel's operation (plumbline_provider.kernel_question). It gets no problems of another one.
typedef enum plumbline_question {
  PLUMBLINE_ATTENTION = 0,
  // merges states of parts, each an output O and the LSE of its logits, into one state
  PLUMBLINE_MERGE = 1,
} plumbline_question;

// A kernel's output in padded query rows of a padded layout.
typedef enum plumbline_padding_policy {
  PLUMBLINE_PADDED_ROWS_ZEROS = 0,      // writes zeros, as Transformers with FlashAttention-2
  PLUMBLINE_PADDED_ROWS_UNTOUCHED = 1,  // leaves them unchanged; a NaN in e4m3 may go unnoticed
  // treats them as queries: they attend to the sample's valid keys (SDPA)
  PLUMBLINE_PADDED_ROWS_ATTENDED = 2,
  PLUMBLINE_PADDED_ROWS_ANYTHING = 3,  // arbitrary; plumbline does not check them
} plumbline_padding_policy;

// The m of P = exp(S - m).
typedef enum plumbline_p_max {
  // the largest logit of some of the keys seen so far; may start from the sink's logit
  PLUMBLINE_P_MAX_RUNNING = 0,
  // the largest logit of all keys seen so far, without sinks: the largest P is 1
  PLUMBLINE_P_MAX_ONE = 1,
  PLUMBLINE_P_MAX_CEIL2 = 2,  // as RUNNING, but m * log2(e) is rounded up to an integer
  PLUMBLINE_P_MAX_BF16 = 3,   // as RUNNING, rounded to bf16
  PLUMBLINE_P_MAX_FREE = 4,   // any number, such as one maximum for several rows
} plumbline_p_max;

typedef enum plumbline_promise {
  PLUMBLINE_PROMISE_NONE = 0,      // not promised
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
  int64_t window_left;  // keys visible before the mask's diagonal; -1 = all
  // keys visible after that diagonal; -1 = all. For MASK_NONE it is the bottom-right one.
  int64_t window_right;
  double scale;    // multiplies q.k; already resolved (default 1 / sqrt(head_dim_qk))
  double softcap;  // 0 = off: logits become softcap * tanh(logit / softcap)
  // 1: -slope |i + len_kv - len_q - j| is added after scale and softcap (tensors.alibi_slopes)
  uint32_t has_alibi;
  // 1: each query head has one more logit in the denominator, with no row of V (tensors.sinks)
  uint32_t has_sink;
  // Tokens of a sample that share an fp8 scale (PLUMBLINE_FEATURE_FP8_SCALES); 0: all tokens.
  int64_t scale_tokens;
  uint32_t question;        // plumbline_question
  uint32_t merge_lse_base;  // base of a merge's input and output LSEs: 0 = e, 2 = two
} plumbline_problem;

// Absent if rank is 0. `data` is element (0, 0, …); `bytes` is the accessible size from there.
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

// Logical dimension order is fixed per layout; strides give the memory order:
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
// Index arrays are contiguous int32 arrays in host memory, even for a device kernel:
//   cu_seqlens_q, cu_seqlens_kv  [batch + 1]
//   seqlens_q, seqlens_kv        [batch]
//   page_table                   if paged: [batch, pages of the longest sample]; -1 = unused
//
// device_cu_seqlens_q to device_page_table are copies of these arrays in the memory space of Q,
// complete before `prepare`. A write to them is reported, as for an input. If Q is in host memory
// (PLUMBLINE_HOST, PLUMBLINE_EMULATED), they share `data` with the arrays above.
//
// The other tensors are in the memory space of Q:
//   k_scale, v_scale     float32 [batch, heads_kv], if K and V are fp8: value = scale * stored. A
//                        stride of 0 means that all indices of the dimension share a value. If
//                        scale_tokens is not 0: [batch, heads_kv, blocks], blocks = ceil(seq_kv /
//                        scale_tokens); key j of a sample uses block j / scale_tokens.
//   q_scale              float32 [batch, heads_q], if Q is fp8. Query heads of one key head have
//                        equal scales. If scale_tokens is not 0: [batch, heads_q, ceil(seq_q /
//                        scale_tokens)]; query row i of a sample uses block i / scale_tokens.
//   out_scale            float32 [1] for fp8 outputs: stored = O / out_scale, saturated
//   alibi_slopes, sinks  float32 [heads_q], in natural units
//   mask                 int32 [batch, seq_q, (seq_kv + 31) / 32]: bit j % 32 of word j / 32 is set
//                        if row i sees key j. i and j count the valid rows and keys of a sample.
//
// A merge has the same tensors: its tokens are the samples, and a token's parts are its keys. seq_q
// is 1, seq_kv the maximum number of parts of a token, and heads_q equals heads_kv. dtype_q and
// dtype_kv are the dtype of the parts' O.
//   v    O of the parts, [batch, seq_kv, heads, head_dim_vo]; ragged: [total_kv, …], with
//        cu_seqlens_kv as FlashInfer's indptr
//   k    float32: the LSE of each part; head_dim_qk is 1
//   q    float32, 1 in every element; need not be read
//   out  sum_i w_i O_i with w_i = b^(LSE_i - LSE), b = e or 2
//   lse  log_b sum_i b^LSE_i
// An input LSE is finite, or -infinity if the part has no keys. The O of such a part may contain
// anything, even NaN, and contributes nothing. If no part has keys, out is 0 and lse -infinity.
// FlashAttention's combine does this; vLLM, SGLang and FlashInfer return NaN if no part has keys.
//
// K and V may be views into one buffer, and V a part of K: read strides.
// lse is float32, for the same rows as out: the logarithm of the sum of exp(logit) over the keys
// that a row sees, natural unless the kernel's description says base 2.
//   a row that sees no key  out is 0 and lse -infinity. If the LSE includes a sink, lse is the
//                           sink, up to rounding (in base 2 the sink times log2(e)).
//   a padded query row      out follows the padding policy. lse is arbitrary but equal in each run.
//
// outputs, [output_count], names every output of the call: out, lse, and those of the provider's
// kernel_outputs, which are float32 in the shape of lse, and -infinity in rows that see no key.
typedef struct plumbline_output {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  // "lse"
  plumbline_tensor tensor;
} plumbline_output;

typedef struct plumbline_tensors {
  uint32_t struct_size;
  // For `run` on an emulated device: 1 resumes the last runnable thread of a block, 0 the first.
  uint32_t threads_reversed;
  plumbline_tensor q, k, v, out, lse;
  plumbline_tensor cu_seqlens_q, cu_seqlens_kv, seqlens_q, seqlens_kv, page_table;
  // rank 1, bytes; the size that `prepare` returned, 256-byte aligned, poisoned
  plumbline_tensor workspace;
  plumbline_tensor mask, alibi_slopes, sinks;
  plumbline_tensor q_scale;  // only for providers with PLUMBLINE_FEATURE_FP8_SCALES
  plumbline_tensor k_scale, v_scale;

  // The struct of an older plumbline ends here: check with has_field of plumbline_provider.hpp.
  plumbline_tensor device_cu_seqlens_q, device_cu_seqlens_kv, device_seqlens_q, device_seqlens_kv;
  plumbline_tensor device_page_table;
  // The stream that `run` will get. Work that `prepare` enqueues there is complete before `run`.
  // Host memory that this work reads must stay valid until then.
  void* stream;
  // Allocates plan memory: `bytes` in the memory space of Q, 256-byte aligned, between guard bytes,
  // poisoned once. plumbline frees it after `destroy`. Only `prepare` may call it, with
  // allocate_context; it is NULL in `run`. A write outside the nth piece is reported as "plan
  // memory n". *out is NULL for 0 bytes and after PLUMBLINE_OUT_OF_MEMORY or PLUMBLINE_ERROR.
  plumbline_status (*allocate)(void* context, uint64_t bytes, void** out);
  void* allocate_context;
  uint32_t output_count;
  uint32_t reserved;
  const plumbline_output* outputs;
  plumbline_tensor out_scale;  // only for providers with PLUMBLINE_FEATURE_FP8_OUTPUT
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
// `products_per_step` terms. Each step aligns its terms to the largest and keeps `fraction_bits`
// fraction bits.
typedef struct plumbline_accumulator {
  uint32_t dtype;              // PLUMBLINE_F32 or PLUMBLINE_F16
  uint32_t toward_zero;        // 1: truncates (tensor cores), 0: rounds to nearest (FMA)
  uint32_t fraction_bits;      // F; 24 for fp32 FMA, 23..25 on tensor cores, 13 for Hopper fp8
  uint32_t products_per_step;  // L; 1 for FMA
} plumbline_accumulator;

// A kernel's roundings, which determine the allowed error (docs/judging-formulas.md). A contract
// pins them: declaring more roundings than it allows is a failure in itself.
typedef struct plumbline_rounding_spec {
  uint32_t struct_size;
  uint32_t p_dtype;   // dtype to which P = exp(S - m) is rounded before P V; F32 = not rounded
  double p_prescale;  // factor that multiplies P before that rounding; 1 = none
  uint32_t denominator_from_rounded_p;  // 1: the softmax denominator sums P after that rounding
  uint32_t s_rounded;    // 16-bit dtype of S, rounded after softcap and ALiBi; NONE = not rounded
  uint32_t q_prescaled;  // dtype to which Q * scale * log2(e) is rounded first; NONE = not done
  uint32_t split_partial_dtype;  // dtype of stored split-KV partial outputs; F32 without splits
  plumbline_accumulator qk_accumulator;
  plumbline_accumulator pv_accumulator;
  double exp2_rel_error;  // relative error of exp2 beyond 2 ulp of fp32; 0 = within 2 ulp
  double tanh_rel_error;  // the same for the softcap's tanh
  // Rounding of Q, K and V before the products, to nearest, ties to even:
  //   NONE       fp8 is widened as stored. The scales multiply the sums; if V's tokens have
  //              scales of their own, those multiply P before it is rounded
  //   F16, BF16  scale * stored of fp8 inputs is computed in fp32 and rounded to this dtype
  //   TF32       fp32 inputs are rounded to tf32
  uint32_t kv_dequantized_to;
  uint32_t out_dtype;          // dtype of the output
  uint32_t lse_base;           // 0 = e, 2 = two; for a merge equal to problem.merge_lse_base
  uint32_t lse_excludes_sink;  // 1: an attention sink is not part of the LSE
} plumbline_rounding_spec;

// Further roundings of a kernel. 0 is the usual choice, which an older plumbline assumes.
typedef struct plumbline_more_roundings {
  uint32_t struct_size;
  uint32_t p_normalized;     // 1: P / l is rounded instead of P; l is the softmax denominator
  uint32_t p_max;            // plumbline_p_max
  uint32_t p_toward_zero;    // 1: P is truncated to p_dtype
  uint32_t s_rounded_twice;  // 1: S is also rounded before the scale: round(scale * round(q.k))
  uint32_t q_prescaled_without_log2e;  // 1: q_prescaled is the dtype of Q * scale, without log2(e)
  uint32_t o_between_tiles;  // 16-bit dtype to which O is rounded after each tile of keys, or NONE
  uint32_t out_toward_zero;  // 1: the output is truncated to out_dtype
  uint32_t lse_dtype;        // 16-bit dtype to which the LSE is rounded; NONE = fp32
  uint32_t ring_update;      // 1: parts are merged by O -= w (O - O_i)
  double reciprocal_rel_error;  // relative error of 1 / l beyond 2 ulp of fp32
  uint32_t s_rounded_before_bias, s_rounded_before_softcap;  // 1: S is rounded there
  uint32_t inputs_toward_zero;  // 1: fp32 inputs are truncated to tf32, not rounded
  // 1: under causal ALiBi without left window, LSE lacks the bias that all keys of a row share
  uint32_t lse_without_row_bias;
  double product_rel_error;  // relative error of each product of Q K^T and P V; 0 = none
  double skipped_below;      // tiles whose exp(s - m) are all below this may be skipped; 0 = none
  uint32_t p_stochastic, out_stochastic;  // 1: P, or the output, is rounded up or down at random
} plumbline_more_roundings;

// A kernel's promise for each transformation of a problem: values of plumbline_promise.
typedef struct plumbline_promises {
  uint32_t struct_size;
  uint32_t run_to_run;      // the same call twice
  uint32_t batch;           // a sample alone or at any position of any batch, with any neighbors
  uint32_t layout;          // padded = ragged = paged
  uint32_t page;            // page permutation and page size
  uint32_t split;           // number of KV splits
  uint32_t prefill_decode;  // the last rows of a prefill = the decode of the same tokens
  uint32_t lse;             // with or without LSE
} plumbline_promises;

typedef struct plumbline_description {
  uint32_t struct_size;
  uint32_t padding_policy;  // plumbline_padding_policy
  char launched[256];       // the actual launch: kernel names, tile sizes, splits
  char build_id[64];        // changes whenever the computing code changes
  char tensor_cores[8];     // "on", "off" or "none"
  plumbline_rounding_spec spec;
  plumbline_promises promises;
  int32_t registers_per_thread;  // -1 = unknown or not a GPU kernel, here and below
  int32_t spill_bytes_per_thread;
  int64_t shared_memory_bytes;
  int64_t stack_bytes_per_thread;
  // the architecture that ran, "sm_90"; "" if the device's name gives it ("cuda:0" does not)
  char device_arch[32];
  plumbline_more_roundings more_roundings;
} plumbline_description;

// ---- The device's memory, streams and clocks ----

// The meaning of an error code. plumbline zeroes and sizes it; write what fits.
typedef struct plumbline_device_error {
  uint32_t struct_size;
  uint32_t out_of_memory;  // 1: the only problem is too little free device memory
  char name[64];           // "cudaErrorIllegalAddress"
  char text[192];          // "an illegal memory access was encountered"
  char remedy[192];        // what the user can do; "" if unknown
} plumbline_device_error;

// Facts about a device. plumbline zeroes and sizes it; write what fits.
typedef struct plumbline_device_facts {
  uint32_t struct_size;
  uint32_t reserved;
  char model[128];        // "NVIDIA H100 80GB HBM3"
  char arch[32];          // "sm_90"
  char driver[32];        // "580.65.06"
  char runtime[32];       // version of the GPU runtime that launches: "13.0"
  uint64_t memory_bytes;  // total memory of the device
  uint64_t l2_bytes;      // the last cache before that memory; 0 = unknown
} plumbline_device_facts;

// Memory, streams and clocks of a device, for plumbline, which links no GPU toolkit. NULL in
// plumbline_provider for host-only providers. plumbline calls these functions from one thread. They
// return 0 or the device's error code. A NULL `stream` is the default stream.
typedef struct plumbline_device_memory {
  uint32_t struct_size;
  uint32_t reserved;
  // Returns memory that is at least 256-byte aligned.
  int32_t (*allocate)(const plumbline_device* device, uint64_t bytes, void** out);
  int32_t (*release)(const plumbline_device* device, void* pointer);
  // The copy is complete on return: work enqueued afterwards, on any stream, sees it. Waits for no
  // stream but the default one.
  int32_t (*copy_to_device)(const plumbline_device* device, void* device_to, const void* host_from,
                            uint64_t bytes);
  int32_t (*copy_to_host)(const plumbline_device* device, void* host_to, const void* device_from,
                          uint64_t bytes);
  // Waits for all work enqueued on `stream`. Also returns errors of that work.
  int32_t (*synchronize)(const plumbline_device* device, void* stream);

  // The first release of this table ends here, and any function below may be NULL. Kernels then run
  // on the default stream, times are host times with a warm cache, and errors are numbers. The code
  // 2 from `allocate` then means out of memory, as in CUDA and HIP.

  // Stores the number of visible devices in this memory space; their ordinals are 0 to *out - 1. An
  // error says why there is no device; `plumbline doctor` prints it.
  int32_t (*device_count)(int32_t* out);
  int32_t (*facts)(const plumbline_device* device, plumbline_device_facts* facts);
  int32_t (*describe_error)(int32_t code, plumbline_device_error* error);

  // Creates a stream that neither waits for the default stream nor blocks it
  // (cudaStreamNonBlocking). plumbline passes such a stream to `run`. The copies of inputs and the
  // poisoning of outputs and workspace are already enqueued there, and begin only after `run` has
  // returned. A kernel launched on another stream therefore reads poison, and its output is
  // overwritten. plumbline does so only with all five functions up to enqueue_call.
  int32_t (*create_stream)(const plumbline_device* device, void** out);
  int32_t (*destroy_stream)(const plumbline_device* device, void* stream);
  // These do not wait. Both ends of a copy are in device memory; a fill writes `byte`, 0 to 255.
  int32_t (*enqueue_copy)(const plumbline_device* device, void* to, const void* from,
                          uint64_t bytes, void* stream);
  int32_t (*enqueue_fill)(const plumbline_device* device, void* at, int32_t byte, uint64_t bytes,
                          void* stream);
  // Calls function(argument) on any host thread, in stream order: after all earlier work, and
  // before later work (cudaLaunchHostFunc). The function calls nothing of this table and may block
  // for up to a second.
  int32_t (*enqueue_call)(const plumbline_device* device, void (*function)(void* argument),
                          void* argument, void* stream);

  // Events mark points of a stream. `elapsed_ns` waits for `end` and returns the nanoseconds
  // between two points of one stream. Times by the device's clock need these four and the five
  // functions above. l2_bytes of `facts` sets the size of the cache flush; 0 counts as 128 MiB.
  int32_t (*create_event)(const plumbline_device* device, void** out);
  int32_t (*destroy_event)(const plumbline_device* device, void* event);
  int32_t (*record_event)(const plumbline_device* device, void* event, void* stream);
  int32_t (*elapsed_ns)(const plumbline_device* device, void* begin, void* end, double* ns);
} plumbline_device_memory;

// ---- The provider ----

typedef struct plumbline_plan plumbline_plan;  // the provider's own

// Features that plumbline uses only if the provider declares them. Kernels may still refuse.
typedef enum plumbline_feature {
  // fp8 Q with tensors.q_scale, and fp8 scales of Q, K and V for tokens or blocks of tokens
  PLUMBLINE_FEATURE_FP8_SCALES = 1,
  // the devices of PLUMBLINE_EMULATED, with tensors in host memory: "emulated:sm_90" is then a
  // valid device even if no other provider has it
  PLUMBLINE_FEATURE_EMULATED = 2,
  PLUMBLINE_FEATURE_FP8_OUTPUT = 4,  // fp8 outputs with tensors.out_scale
} plumbline_feature;

// A `reason` buffer receives a NUL-terminated sentence unless the status is PLUMBLINE_OK.
typedef struct plumbline_provider {
  uint32_t struct_size;
  uint32_t abi_version;  // PLUMBLINE_ABI_VERSION it was compiled with
  const char* name;      // "cpu"; full kernel names are name/kernel
  const char* version;   // the underlying library's, with its commit if known
  uint32_t kernel_count;
  uint32_t reserved;
  const char* (*kernel_name)(uint32_t kernel);
  plumbline_status (*query)(uint32_t kernel, const plumbline_problem* problem,
                            const plumbline_device* device, char* reason, size_t reason_bytes);
  // `tensors` has every tensor except the workspace. Only the contents of the index arrays and of
  // their device copies may be read here.
  plumbline_status (*prepare)(uint32_t kernel, const plumbline_problem* problem,
                              const plumbline_tensors* tensors, const plumbline_device* device,
                              plumbline_plan** plan, uint64_t* workspace_bytes, char* reason,
                              size_t reason_bytes);
  plumbline_status (*run)(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                          char* reason, size_t reason_bytes);
  plumbline_status (*describe)(const plumbline_plan* plan, plumbline_description* description);
  void (*destroy)(plumbline_plan* plan);
  // NULL: host only. Constant after the provider was returned
  const plumbline_device_memory* memory;
  // "on", "off" or "none" for each kernel; NULL: "none" for all. Suites select by it.
  const char* (*kernel_tensor_cores)(uint32_t kernel);
  // plumbline_feature bits. Problems that need a missing feature are unsupported, without a query.
  uint64_t features;
  // plumbline_question of each kernel; NULL: attention for all.
  uint32_t (*kernel_question)(uint32_t kernel);
  // The outputs that each kernel returns beyond out and lse, comma-separated; NULL or "": none. A
  // name that plumbline does not know is an error.
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
