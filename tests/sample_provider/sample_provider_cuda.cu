// A provider for GPUs with plumbline_provider.hpp: one kernel, a planner, one file.
//
// It supports fp32 in padded and ragged layouts, without masks. A thread computes a head's row:
//   sample_cuda/online   one pass over the keys; m = max S, l = sum P and O are rescaled when m
//                        grows; S[j] = scale * q . k[j], P[j] = exp(S[j] - m), out = O / l
//
// Beyond a provider for the host, a GPU needs:
//   memory    the functions by which plumbline gets device memory, streams and events
//   refusal   PLUMBLINE_NO_DEVICE if there is no GPU
//   prepare   reads index arrays on the host; kernels read their device copies. plumbline allocates
//             the plan's memory, and copies to it are enqueued on plumbline's stream
//   run       enqueues on the given stream, and waits for nothing
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "plumbline_provider.hpp"

namespace {

using namespace plumbline::provider;

// ---- The kernel ----

// A tensor with contiguous elements of each row and head. Strides in floats; a ragged tensor's
// sample stride is 0.
struct Rows {
  float* data;
  int64_t sample, token, head;

  __device__ float* at(int64_t in_sample, int64_t in_token, int64_t in_head) const {
    return data + in_sample * sample + in_token * token + in_head * head;
  }
};

// A query row: its sample, and its position in the sample's extent (ragged: in the whole tensor).
struct Item {
  int32_t sample, token;
};

struct Call {
  const Item* items;
  int64_t item_count;
  Rows q, k, v, out, lse;        // lse has no data if it is not wanted
  const int32_t* lengths_kv;     // [batch]
  const int32_t* cu_seqlens_kv;  // [batch + 1] if ragged; otherwise nullptr
  int64_t seq_kv, heads_q, group, head_dim_qk, head_dim_vo;
  bool padded_left;
  float scale;
};

__global__ void attend(Call call) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= call.item_count * call.heads_q) return;
  const Item item = call.items[index / call.heads_q];
  const int64_t head = index % call.heads_q, head_kv = head / call.group;
  const int64_t keys = call.lengths_kv[item.sample];
  const int64_t first_key = call.cu_seqlens_kv != nullptr ? call.cu_seqlens_kv[item.sample]
                            : call.padded_left            ? call.seq_kv - keys
                                                          : 0;
  const float* const q = call.q.at(item.sample, item.token, head);
  float* const out = call.out.at(item.sample, item.token, head);
  for (int64_t d = 0; d < call.head_dim_vo; ++d) out[d] = 0;
  float m = -INFINITY, l = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const float* const k = call.k.at(item.sample, first_key + j, head_kv);
    const float* const v = call.v.at(item.sample, first_key + j, head_kv);
    float s = 0;
    for (int64_t d = 0; d < call.head_dim_qk; ++d) s += q[d] * k[d];
    s *= call.scale;
    if (s > m) {
      const float rescale = expf(m - s);
      for (int64_t d = 0; d < call.head_dim_vo; ++d) out[d] *= rescale;
      l *= rescale;
      m = s;
    }
    const float p = expf(s - m);
    l += p;
    for (int64_t d = 0; d < call.head_dim_vo; ++d) out[d] += p * v[d];
  }
  // A row that sees no key is 0, with LSE -infinity.
  for (int64_t d = 0; d < call.head_dim_vo && l > 0; ++d) out[d] /= l;
  if (call.lse.data != nullptr) *call.lse.at(item.sample, item.token, head) = m + logf(l);
}

// ---- Memory, streams and events, each a call of the CUDA runtime ----

// Resets the last error, so that later calls do not report a failure again.
int32_t code_of(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return static_cast<int32_t>(error);
}
template <class Function>
int32_t on(const plumbline_device* device, Function function) {
  const cudaError_t error = cudaSetDevice(device->ordinal);
  return code_of(error == cudaSuccess ? function() : error);
}
cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

using Device = const plumbline_device*;

int32_t allocate(Device device, uint64_t bytes, void** out) {
  return on(device, [&] { return cudaMalloc(out, bytes); });
}
int32_t release(Device device, void* pointer) {
  return on(device, [&] { return cudaFree(pointer); });
}
// cudaMemcpy may return before the last part of pageable memory has arrived.
int32_t copy(Device device, void* to, const void* from, uint64_t bytes) {
  return on(device, [&] {
    const cudaError_t error = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
  });
}
int32_t synchronize(Device device, void* stream) {
  return on(device, [&] { return cudaStreamSynchronize(stream_of(stream)); });
}
int32_t device_count(int32_t* out) { return code_of(cudaGetDeviceCount(out)); }
int32_t facts(Device device, plumbline_device_facts* out) {
  return on(device, [&] {
    cudaDeviceProp properties{};
    const cudaError_t error = cudaGetDeviceProperties(&properties, device->ordinal);
    copy_text(properties.name, out->model);
    copy_text("sm_" + std::to_string(10 * properties.major + properties.minor), out->arch);
    out->memory_bytes = properties.totalGlobalMem;
    out->l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
    return error;
  });
}
int32_t describe_error(int32_t code, plumbline_device_error* out) {
  const auto error = static_cast<cudaError_t>(code);
  out->out_of_memory = error == cudaErrorMemoryAllocation ? 1 : 0;
  copy_text(cudaGetErrorName(error), out->name);
  copy_text(cudaGetErrorString(error), out->text);
  return 0;
}
int32_t create_stream(Device device, void** out) {
  return on(device, [&] {
    return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(out), cudaStreamNonBlocking);
  });
}
int32_t destroy_stream(Device device, void* stream) {
  return on(device, [&] { return cudaStreamDestroy(stream_of(stream)); });
}
int32_t enqueue_copy(Device device, void* to, const void* from, uint64_t bytes, void* stream) {
  return on(device, [&] {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream));
  });
}
int32_t enqueue_fill(Device device, void* at, int32_t byte, uint64_t bytes, void* stream) {
  return on(device, [&] { return cudaMemsetAsync(at, byte, bytes, stream_of(stream)); });
}
int32_t enqueue_call(Device device, void (*function)(void*), void* argument, void* stream) {
  return on(device, [&] { return cudaLaunchHostFunc(stream_of(stream), function, argument); });
}
int32_t create_event(Device device, void** out) {
  return on(device, [&] { return cudaEventCreate(reinterpret_cast<cudaEvent_t*>(out)); });
}
int32_t destroy_event(Device device, void* event) {
  return on(device, [&] { return cudaEventDestroy(event_of(event)); });
}
int32_t record_event(Device device, void* event, void* stream) {
  return on(device, [&] { return cudaEventRecord(event_of(event), stream_of(stream)); });
}
int32_t elapsed_ns(Device device, void* begin, void* end, double* ns) {
  return on(device, [&] {
    float ms = 0;
    cudaError_t error = cudaEventSynchronize(event_of(end));
    if (error == cudaSuccess) error = cudaEventElapsedTime(&ms, event_of(begin), event_of(end));
    *ns = 1e6 * ms;
    return error;
  });
}
const plumbline_device_memory memory_table{sizeof(plumbline_device_memory),
                                           0,
                                           allocate,
                                           release,
                                           copy,
                                           copy,
                                           synchronize,
                                           device_count,
                                           facts,
                                           describe_error,
                                           create_stream,
                                           destroy_stream,
                                           enqueue_copy,
                                           enqueue_fill,
                                           enqueue_call,
                                           create_event,
                                           destroy_event,
                                           record_event,
                                           elapsed_ns};

// ---- The provider ----

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw Refused(PLUMBLINE_ERROR, std::string(what) + ": " + cudaGetErrorString(error));
}

Rows rows(const plumbline_problem& problem, const plumbline_tensor& tensor) {
  if (tensor.rank == 0) return {};
  const int token = is_padded(problem.layout) ? 1 : 0;
  return {static_cast<float*>(tensor.data), token == 1 ? tensor.stride[0] : 0, tensor.stride[token],
          tensor.stride[token + 1]};
}

struct Sample : Library {
  struct Kernel {
    const char* name;
  };
  struct Plan {
    plumbline_problem problem;
    std::vector<Item> items;  // must outlive the copy on the stream
    Call call;
  };

  static const char* name() { return "sample_cuda"; }
  static const char* version() { return "1.0"; }
  static const std::vector<Kernel>& kernels() {
    static const std::vector<Kernel> all{{"online"}};
    return all;
  }
  static const plumbline_device_memory* memory() { return &memory_table; }

  static std::string refusal(const Kernel&, const plumbline_problem& p,
                             const plumbline_device& device) {
    if (std::string why = refuse_other_devices(device, PLUMBLINE_CUDA, "the sample's kernels");
        !why.empty())
      return why;
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (code_of(error) != 0)
      throw Refused(PLUMBLINE_NO_DEVICE, std::string("no GPU: ") + cudaGetErrorString(error));
    if (device.ordinal >= devices) throw Refused(PLUMBLINE_NO_DEVICE, "there is no such GPU");
    if (p.dtype_q != PLUMBLINE_F32 || p.dtype_kv != PLUMBLINE_F32 || p.dtype_out != PLUMBLINE_F32)
      return std::string("only fp32 is supported (got ") + dtype_name(p.dtype_q) + ")";
    if (!is_padded(p.layout) && p.layout != PLUMBLINE_RAGGED_THD)
      return "only padded and ragged layouts are supported";
    if (p.mask != PLUMBLINE_MASK_NONE || p.window_left >= 0 || p.window_right >= 0)
      return "masks are not supported";
    if (p.softcap != 0 || p.has_alibi || p.has_sink)
      return "softcap, ALiBi and sinks are not supported";
    return "";
  }

  // Returns the query rows of all samples, from the lengths on the host.
  static std::vector<Item> items_of(const plumbline_problem& p, const plumbline_tensors& t) {
    const auto* const lengths = static_cast<const int32_t*>(t.seqlens_q.data);
    const auto* const sums = static_cast<const int32_t*>(t.cu_seqlens_q.data);
    std::vector<Item> items;
    for (int32_t sample = 0; sample < p.batch; ++sample) {
      int32_t first = 0;
      if (!is_padded(p.layout))
        first = sums[sample];
      else if (p.padding == PLUMBLINE_PADDING_LEFT)
        first = static_cast<int32_t>(p.seq_q) - lengths[sample];
      for (int32_t row = 0; row < lengths[sample]; ++row) items.push_back({sample, first + row});
    }
    return items;
  }

  static Plan prepare(const Kernel&, const plumbline_problem& p, const plumbline_tensors& t,
                      const plumbline_device& device, std::uint64_t&) {
    Plan plan{p, items_of(p, t), {}};
    Call& call = plan.call;
    call.item_count = static_cast<int64_t>(plan.items.size());
    call.lengths_kv = device_indices(t, &plumbline_tensors::device_seqlens_kv);
    if (!is_padded(p.layout))
      call.cu_seqlens_kv = device_indices(t, &plumbline_tensors::device_cu_seqlens_kv);
    const std::size_t bytes = plan.items.size() * sizeof(Item);
    void* const items = plan_memory(t, bytes, "the list of rows");
    if (call.lengths_kv == nullptr || (items == nullptr && bytes != 0))
      throw Refused(PLUMBLINE_ERROR, "this plumbline is older than copies of index arrays");
    require(cudaSetDevice(device.ordinal), "cudaSetDevice");
    if (bytes != 0)
      require(cudaMemcpyAsync(items, plan.items.data(), bytes, cudaMemcpyHostToDevice,
                              stream_of(planning_stream(t))),
              "copy of the list of rows");
    call.items = static_cast<const Item*>(items);
    call.seq_kv = p.seq_kv;
    call.heads_q = p.heads_q;
    call.group = p.heads_q / p.heads_kv;
    call.head_dim_qk = p.head_dim_qk;
    call.head_dim_vo = p.head_dim_vo;
    call.padded_left = p.padding == PLUMBLINE_PADDING_LEFT;
    call.scale = static_cast<float>(p.scale);
    return plan;  // it needs no workspace
  }

  static void run(Plan& plan, const plumbline_tensors& t, void* stream) {
    Call& call = plan.call;
    call.q = rows(plan.problem, t.q);
    call.k = rows(plan.problem, t.k);
    call.v = rows(plan.problem, t.v);
    call.out = rows(plan.problem, t.out);
    call.lse = rows(plan.problem, t.lse);
    constexpr int64_t threads = 128;
    const int64_t blocks = (call.item_count * call.heads_q + threads - 1) / threads;
    if (blocks == 0) return;
    attend<<<static_cast<unsigned>(blocks), threads, 0, stream_of(stream)>>>(call);
    require(cudaGetLastError(), "launch of attend");
  }

  // The default spec is right: sums in fp32, and only the output is rounded.
  static void describe(const Plan&, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
    copy_text("attend, 128 threads a block, a row and head each", description.launched);
    copy_text(__DATE__ " " __TIME__, description.build_id);
    cudaFuncAttributes attributes{};
    if (code_of(cudaFuncGetAttributes(&attributes, attend)) == 0)
      description.registers_per_thread = attributes.numRegs;
    description.promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
    description.promises.batch = PLUMBLINE_PROMISE_BITWISE;
  }
};

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return serve<Sample>(abi_version, options);
}
