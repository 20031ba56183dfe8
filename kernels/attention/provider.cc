// The provider "cuda": our CUDA kernels behind plumbline_provider.h. Host code only; every CUDA error is returned in words.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernels/attention/naive.h"

namespace plumbline::attention {
namespace {

constexpr const char* kernel_names[] = {"naive"};
constexpr std::int64_t most_shared_bytes = 48 * 1024;  // without asking for more, on every architecture
constexpr double log2_e = 1.4426950408889634074;

// Index arrays of a plan, copied to the device at once: cu_seqlens_q, cu_seqlens_kv, then the page table.
class DeviceIndices {
 public:
  DeviceIndices() = default;
  ~DeviceIndices() { cudaFree(data_); }
  DeviceIndices(const DeviceIndices&) = delete;
  DeviceIndices& operator=(const DeviceIndices&) = delete;

  cudaError_t copy(const std::vector<std::int32_t>& values) {
    const std::size_t bytes = values.size() * sizeof(std::int32_t);
    if (const cudaError_t error = cudaMalloc(&data_, bytes); error != cudaSuccess) return error;
    return cudaMemcpy(data_, values.data(), bytes, cudaMemcpyHostToDevice);
  }
  const std::int32_t* at(std::int64_t element) const { return static_cast<const std::int32_t*>(data_) + element; }

 private:
  void* data_ = nullptr;
};

}  // namespace
}  // namespace plumbline::attention

struct plumbline_plan {
  plumbline_problem problem;
  plumbline::attention::NaiveParameters parameters;
  plumbline::attention::DeviceIndices indices;
  cudaFuncAttributes attributes;
};

namespace plumbline::attention {
namespace {

bool is_padded(std::uint32_t layout) { return layout == PLUMBLINE_PADDED_BSHD || layout == PLUMBLINE_PADDED_BHSD; }
bool is_paged(std::uint32_t layout) { return layout == PLUMBLINE_PAGED_NHD || layout == PLUMBLINE_PAGED_HND; }
bool is_known(std::uint32_t dtype) { return dtype == PLUMBLINE_F32 || dtype == PLUMBLINE_F16 || dtype == PLUMBLINE_BF16; }

plumbline_status answer(plumbline_status status, const std::string& text, char* reason, std::size_t reason_bytes) {
  if (reason != nullptr && reason_bytes > 0) std::snprintf(reason, reason_bytes, "%s", text.c_str());
  return status;
}

plumbline_status answer(cudaError_t error, const char* what, char* reason, std::size_t reason_bytes) {
  if (error == cudaSuccess) return PLUMBLINE_OK;
  const plumbline_status status = error == cudaErrorMemoryAllocation ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_ERROR;
  return answer(status, std::string(what) + ": " + cudaGetErrorString(error), reason, reason_bytes);
}

std::string refuse_device(const plumbline_device& device) {
  if (device.memory_space != PLUMBLINE_CUDA) return "the cuda kernels run on CUDA devices only, for example --device cuda:0";
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return std::string("no usable CUDA device: ") + cudaGetErrorString(error);
  }
  if (device.ordinal < 0 || device.ordinal >= count) {
    return "there is no CUDA device " + std::to_string(device.ordinal) + ": this machine has " + std::to_string(count);
  }
  return "";
}

std::string refuse_problem(const plumbline_problem& problem) {
  if (!is_known(problem.dtype_q) || problem.dtype_kv != problem.dtype_q) return "cuda/naive needs Q, K and V in one of fp32, fp16, bf16";
  if (problem.dtype_out != problem.dtype_q && problem.dtype_out != PLUMBLINE_F32) return "cuda/naive writes the dtype of Q or fp32";
  if (problem.layout > PLUMBLINE_PAGED_HND) return "unknown layout " + std::to_string(problem.layout);
  if (problem.mask > PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT) return "custom masks are not supported";
  if (problem.softcap != 0) return "softcap is not supported";
  if (problem.has_alibi != 0 || problem.has_sink != 0) return "ALiBi and attention sinks are not supported";
  if (problem.heads_q > 65535) return "more than 65535 heads exceed the grid";
  NaiveParameters sizes{};
  sizes.head_dim_qk = static_cast<std::int32_t>(problem.head_dim_qk);
  sizes.head_dim_vo = static_cast<std::int32_t>(problem.head_dim_vo);
  if (naive_shared_bytes(sizes) > most_shared_bytes) return "these head dimensions exceed 48 KB of shared memory";
  return "";
}

plumbline_status query(std::uint32_t kernel, const plumbline_problem* problem, const plumbline_device* device, char* reason,
                       std::size_t reason_bytes) {
  if (kernel >= std::size(kernel_names)) return answer(PLUMBLINE_ERROR, "no such kernel", reason, reason_bytes);
  if (problem->struct_size < sizeof(plumbline_problem) || device->struct_size < sizeof(plumbline_device)) {
    return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason, reason_bytes);
  }
  std::string why_not = refuse_device(*device);
  if (why_not.empty()) why_not = refuse_problem(*problem);
  return why_not.empty() ? PLUMBLINE_OK : answer(PLUMBLINE_UNSUPPORTED, why_not, reason, reason_bytes);
}

// The dimensions of a tensor are [outer,] token, head [, element].
TensorMap map_tensor(const plumbline_tensor& tensor, bool has_outer, bool has_element) {
  if (tensor.rank == 0) return {};
  const int token = has_outer ? 1 : 0;
  return {tensor.data,
          has_outer ? tensor.stride[0] : 0,
          tensor.stride[token],
          tensor.stride[token + 1],
          has_element ? tensor.stride[token + 2] : 1,
          tensor.extent[token]};
}

void map_tensors(const plumbline_problem& problem, const plumbline_tensors& tensors, NaiveParameters& p) {
  const bool padded = is_padded(problem.layout);
  const bool keys_have_outer = padded || is_paged(problem.layout);
  p.q = map_tensor(tensors.q, padded, true);
  p.k = map_tensor(tensors.k, keys_have_outer, true);
  p.v = map_tensor(tensors.v, keys_have_outer, true);
  p.out = map_tensor(tensors.out, padded, true);
  p.lse = problem.lse_wanted != 0 ? map_tensor(tensors.lse, padded, false) : TensorMap{};
}

void append(const plumbline_tensor& tensor, std::int64_t count, std::vector<std::int32_t>& values) {
  const auto* data = static_cast<const std::int32_t*>(tensor.data);
  values.insert(values.end(), data, data + count);
}

// cu_seqlens from the lengths, which are there in every layout.
void append_sums(const plumbline_tensor& lengths, std::int64_t batch, std::vector<std::int32_t>& values) {
  const auto* data = static_cast<const std::int32_t*>(lengths.data);
  std::int32_t sum = 0;
  values.push_back(sum);
  for (std::int64_t i = 0; i < batch; ++i) values.push_back(sum += data[i]);
}

cudaError_t plan_indices(const plumbline_problem& problem, const plumbline_tensors& tensors, plumbline_plan& plan) {
  std::vector<std::int32_t> values;
  append_sums(tensors.seqlens_q, problem.batch, values);
  append_sums(tensors.seqlens_kv, problem.batch, values);
  if (is_paged(problem.layout)) append(tensors.page_table, problem.batch * tensors.page_table.extent[1], values);
  if (const cudaError_t error = plan.indices.copy(values); error != cudaSuccess) return error;

  NaiveParameters& p = plan.parameters;
  p.cu_seqlens_q = plan.indices.at(0);
  p.cu_seqlens_kv = plan.indices.at(problem.batch + 1);
  if (is_paged(problem.layout)) {
    p.page_table = plan.indices.at(2 * (problem.batch + 1));
    p.pages_per_sample = tensors.page_table.extent[1];
    p.page_size = problem.page_size;
  }
  p.rows = is_padded(problem.layout) ? problem.batch * problem.seq_q : values[static_cast<std::size_t>(problem.batch)];
  return cudaSuccess;
}

NaiveParameters plan_sizes(const plumbline_problem& problem) {
  NaiveParameters p{};
  p.batch = static_cast<std::int32_t>(problem.batch);
  p.heads_q = static_cast<std::int32_t>(problem.heads_q);
  p.group = static_cast<std::int32_t>(problem.heads_q / problem.heads_kv);
  p.head_dim_qk = static_cast<std::int32_t>(problem.head_dim_qk);
  p.head_dim_vo = static_cast<std::int32_t>(problem.head_dim_vo);
  p.causal = problem.mask != PLUMBLINE_MASK_NONE ? 1 : 0;
  p.top_left = problem.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT ? 1 : 0;
  p.padded = is_padded(problem.layout) ? 1 : 0;
  p.padded_left = p.padded != 0 && problem.padding == PLUMBLINE_PADDING_LEFT ? 1 : 0;
  p.window_left = problem.window_left;
  p.window_right = problem.window_right;
  p.scale_log2 = static_cast<float>(problem.scale * log2_e);
  p.dtype_in = problem.dtype_q;
  p.dtype_out = problem.dtype_out;
  return p;
}

plumbline_status prepare(std::uint32_t kernel, const plumbline_problem* problem, const plumbline_tensors* tensors,
                         const plumbline_device* device, plumbline_plan** plan, std::uint64_t* workspace_bytes, char* reason,
                         std::size_t reason_bytes) {
  const plumbline_status supported = query(kernel, problem, device, reason, reason_bytes);
  if (supported != PLUMBLINE_OK) return supported;
  try {
    auto made = std::make_unique<plumbline_plan>();
    made->problem = *problem;
    made->parameters = plan_sizes(*problem);
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess) error = plan_indices(*problem, *tensors, *made);
    if (error == cudaSuccess) error = naive_attributes(problem->dtype_q, &made->attributes);
    if (error != cudaSuccess) return answer(error, "prepare", reason, reason_bytes);
    *workspace_bytes = 0;
    *plan = made.release();
    return PLUMBLINE_OK;
  } catch (const std::bad_alloc&) {
    return answer(PLUMBLINE_OUT_OF_MEMORY, "out of host memory", reason, reason_bytes);
  }
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream, char* reason, std::size_t reason_bytes) {
  map_tensors(plan->problem, *tensors, plan->parameters);
  return answer(launch_naive(plan->parameters, static_cast<cudaStream_t>(stream)), "launch of cuda/naive", reason, reason_bytes);
}

plumbline_rounding_spec spec_of(const plumbline_problem& problem) {
  constexpr plumbline_accumulator fp32_fma{PLUMBLINE_F32, 0, 24, 1};
  plumbline_rounding_spec spec{};
  spec.struct_size = sizeof spec;
  spec.p_dtype = PLUMBLINE_F32;
  spec.p_prescale = 1;
  spec.split_partial_dtype = PLUMBLINE_F32;
  spec.qk_accumulator = fp32_fma;
  spec.pv_accumulator = fp32_fma;
  spec.out_dtype = problem.dtype_out;
  return spec;
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
  if (description->struct_size < sizeof(plumbline_description)) return PLUMBLINE_ERROR;
  const std::int64_t shared = naive_shared_bytes(plan->parameters);
  description->padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
  std::snprintf(description->launched, sizeof description->launched, "cuda/naive grid %lldx%d block %d fp32 accumulate",
                static_cast<long long>(plan->parameters.rows), plan->parameters.heads_q, naive_threads);
  std::snprintf(description->build_id, sizeof description->build_id, "%s", PLUMBLINE_CUDA_BUILD_ID);
  std::snprintf(description->tensor_cores, sizeof description->tensor_cores, "off");
  description->spec = spec_of(plan->problem);
  // One block a row, tiles from the sample's first key: nothing but the row's own keys can change its bits.
  description->promises = {sizeof(plumbline_promises), PLUMBLINE_PROMISE_BITWISE,  PLUMBLINE_PROMISE_BITWISE, PLUMBLINE_PROMISE_BITWISE,
                           PLUMBLINE_PROMISE_BITWISE,  PLUMBLINE_PROMISE_ROUNDING, PLUMBLINE_PROMISE_BITWISE, PLUMBLINE_PROMISE_BITWISE};
  description->registers_per_thread = plan->attributes.numRegs;
  description->spill_bytes_per_thread = -1;  // local memory holds arrays as well as spills: the runtime cannot tell them apart
  description->shared_memory_bytes = static_cast<std::int64_t>(plan->attributes.sharedSizeBytes) + shared;
  description->stack_bytes_per_thread = static_cast<std::int64_t>(plan->attributes.localSizeBytes);
  return PLUMBLINE_OK;
}

void destroy(plumbline_plan* plan) { delete plan; }

// ---- Device memory ----

std::int32_t use(const plumbline_device* device) { return cudaSetDevice(device->ordinal); }

std::int32_t allocate(const plumbline_device* device, std::uint64_t bytes, void** out) {
  const std::int32_t error = use(device);
  return error != cudaSuccess ? error : static_cast<std::int32_t>(cudaMalloc(out, bytes));
}
std::int32_t release(const plumbline_device* device, void* pointer) {
  const std::int32_t error = use(device);
  return error != cudaSuccess ? error : static_cast<std::int32_t>(cudaFree(pointer));
}
std::int32_t copy_to_device(const plumbline_device* device, void* to, const void* from, std::uint64_t bytes) {
  const std::int32_t error = use(device);
  return error != cudaSuccess ? error : static_cast<std::int32_t>(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
std::int32_t copy_to_host(const plumbline_device* device, void* to, const void* from, std::uint64_t bytes) {
  const std::int32_t error = use(device);
  return error != cudaSuccess ? error : static_cast<std::int32_t>(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
std::int32_t synchronize(const plumbline_device* device, void* stream) {
  const std::int32_t error = use(device);
  return error != cudaSuccess ? error : static_cast<std::int32_t>(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

const plumbline_device_memory device_memory{
    sizeof(plumbline_device_memory), 0, allocate, release, copy_to_device, copy_to_host, synchronize};

const char* kernel_name(std::uint32_t kernel) { return kernel < std::size(kernel_names) ? kernel_names[kernel] : nullptr; }

}  // namespace
}  // namespace plumbline::attention

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char*) {
  using namespace plumbline::attention;
  if (abi_version != PLUMBLINE_ABI_VERSION) return nullptr;
  static const plumbline_provider provider{sizeof(plumbline_provider),
                                           PLUMBLINE_ABI_VERSION,
                                           "cuda",
                                           PLUMBLINE_CUDA_VERSION,
                                           static_cast<std::uint32_t>(std::size(kernel_names)),
                                           0,
                                           kernel_name,
                                           query,
                                           prepare,
                                           run,
                                           describe,
                                           destroy,
                                           &device_memory};
  return &provider;
}
