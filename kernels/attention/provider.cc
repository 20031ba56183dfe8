// The providers "cuda" and "emulated": our kernels behind plumbline_provider.h. Host code only.
#include "kernels/attention/provider.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention/kernels.h"
#include "kernels/cpu/answer.h"
#include "kernels/cpu/log2_series.h"

struct plumbline_plan {
  const plumbline::attention::Kernel* kernel;
  const plumbline::attention::Instance* instance;
  plumbline_problem problem;
  plumbline_device device;
  plumbline::attention::Parameters parameters;
  plumbline::attention::Splits splits;
  plumbline::attention::Grid grid;
  std::unique_ptr<plumbline::attention::Indices> indices;
};

namespace plumbline::attention {
namespace {

Options& current_options() {
  static Options options;
  return options;
}

std::string full_name(const Kernel& kernel) {
  return std::string(provider_name()) + "/" + kernel.name;
}

// ---- query ----

plumbline_status query(std::uint32_t index, const plumbline_problem* problem,
                       const plumbline_device* device, char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    if (index >= kernels().size())
      return answer(PLUMBLINE_ERROR, "no such kernel", reason, reason_bytes);
    if (problem->struct_size < sizeof(plumbline_problem) ||
        device->struct_size < sizeof(plumbline_device)) {
      return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason,
                    reason_bytes);
    }
    if (!current_options().error.empty())
      return answer(PLUMBLINE_ERROR, current_options().error, reason, reason_bytes);
    if (const std::string why = refuse_device(*device); !why.empty())
      return answer(PLUMBLINE_UNSUPPORTED, why, reason, reason_bytes);
    const Kernel& kernel = kernels()[index];
    const std::string why = refuse(kernel, current_options(), *problem, *device);
    return why.empty()
               ? PLUMBLINE_OK
               : answer(PLUMBLINE_UNSUPPORTED, full_name(kernel) + " " + why, reason, reason_bytes);
  });
}

// ---- prepare ----

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

// [heads] or [batch, heads].
HeadValues map_head_values(const plumbline_tensor& tensor) {
  if (tensor.rank == 0) return {};
  return {static_cast<const float*>(tensor.data), tensor.rank == 2 ? tensor.stride[0] : 0,
          tensor.stride[tensor.rank - 1]};
}

void map_tensors(const plumbline_problem& problem, const plumbline_tensors& tensors,
                 Parameters& p) {
  const bool padded = is_padded(problem.layout);
  const bool keys_have_outer = padded || is_paged(problem.layout);
  p.q = map_tensor(tensors.q, padded, true);
  p.k = map_tensor(tensors.k, keys_have_outer, true);
  p.v = map_tensor(tensors.v, keys_have_outer, true);
  p.out = map_tensor(tensors.out, padded, true);
  p.lse = problem.lse_wanted != 0 ? map_tensor(tensors.lse, padded, false) : TensorMap{};
  p.k_scale = map_head_values(tensors.k_scale);
  p.v_scale = map_head_values(tensors.v_scale);
  p.alibi_slopes = map_head_values(tensors.alibi_slopes);
  p.sinks = map_head_values(tensors.sinks);
}

// cu_seqlens from the lengths, which are there in every layout.
void append_sums(const plumbline_tensor& lengths, std::int64_t batch,
                 std::vector<std::int32_t>& values) {
  const auto* data = static_cast<const std::int32_t*>(lengths.data);
  std::int32_t sum = 0;
  values.push_back(sum);
  for (std::int64_t i = 0; i < batch; ++i) values.push_back(sum += data[i]);
}

// cu_seqlens_q, cu_seqlens_kv, then the page table, in one array of the device.
Failure plan_indices(const plumbline_tensors& tensors, plumbline_plan& plan) {
  const plumbline_problem& problem = plan.problem;
  std::vector<std::int32_t> values;
  append_sums(tensors.seqlens_q, problem.batch, values);
  append_sums(tensors.seqlens_kv, problem.batch, values);
  Parameters& p = plan.parameters;
  p.rows = is_padded(problem.layout) ? problem.batch * problem.seq_q
                                     : values[static_cast<std::size_t>(problem.batch)];
  if (is_paged(problem.layout)) {
    const auto* table = static_cast<const std::int32_t*>(tensors.page_table.data);
    values.insert(values.end(), table, table + problem.batch * tensors.page_table.extent[1]);
  }
  Failure failure;
  plan.indices = copy_indices(plan.device, std::move(values), failure);
  if (failure.status != PLUMBLINE_OK) return failure;
  p.cu_seqlens_q = plan.indices->data();
  p.cu_seqlens_kv = p.cu_seqlens_q + problem.batch + 1;
  if (is_paged(problem.layout)) {
    p.page_table = p.cu_seqlens_kv + problem.batch + 1;
    p.pages_per_sample = tensors.page_table.extent[1];
    p.page_size = static_cast<std::int32_t>(problem.page_size);
  }
  return {};
}

// Beyond any sequence; keeps sums of a position and a window within 32 bits.
std::int32_t window(std::int64_t keys) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(keys, 1 << 29));
}

Parameters plan_sizes(const plumbline_problem& problem, const Splits& splits) {
  Parameters p{};
  p.heads_q = static_cast<std::int32_t>(problem.heads_q);
  p.group = static_cast<std::int32_t>(problem.heads_q / problem.heads_kv);
  p.head_dim_qk = static_cast<std::int32_t>(problem.head_dim_qk);
  p.head_dim_vo = static_cast<std::int32_t>(problem.head_dim_vo);
  p.causal = problem.mask != PLUMBLINE_MASK_NONE ? 1 : 0;
  p.top_left = problem.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT ? 1 : 0;
  p.padded = is_padded(problem.layout) ? 1 : 0;
  p.padded_left = p.padded != 0 && problem.padding == PLUMBLINE_PADDING_LEFT ? 1 : 0;
  p.window_left = window(problem.window_left);
  p.window_right = window(problem.window_right);
  p.logit_scale = static_cast<float>(problem.softcap != 0 ? problem.scale / problem.softcap
                                                          : problem.scale * log2_e);
  p.softcap_log2 = static_cast<float>(problem.softcap * log2_e);
  p.adjusts_logits = problem.softcap != 0 || problem.has_alibi != 0 ? 1 : 0;
  p.dtype_kv = problem.dtype_kv;
  p.dtype_out = problem.dtype_out;
  p.p_dtype = current_options().p_dtype;
  p.splits = splits.count;
  p.split_keys = splits.keys;
  return p;
}

// Floats of the partial results: O, then m and l.
std::int64_t partial_floats(const Parameters& p, bool of_out) {
  return p.splits > 1 ? p.splits * p.rows * p.heads_q * (of_out ? p.head_dim_vo : 2) : 0;
}

plumbline_status prepare(std::uint32_t index, const plumbline_problem* problem,
                         const plumbline_tensors* tensors, const plumbline_device* device,
                         plumbline_plan** plan, std::uint64_t* workspace_bytes, char* reason,
                         std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    const plumbline_status supported = query(index, problem, device, reason, reason_bytes);
    if (supported != PLUMBLINE_OK) return supported;
    const Kernel& kernel = kernels()[index];
    if (const std::string why = refuse_tensors(kernel, *tensors); !why.empty()) {
      return answer(PLUMBLINE_UNSUPPORTED, full_name(kernel) + " " + why, reason, reason_bytes);
    }
    auto made = std::make_unique<plumbline_plan>();
    std::string why;
    made->kernel = &kernel;
    made->instance = choose(kernel, current_options(), *problem, why);
    made->problem = *problem;
    made->device = *device;
    made->splits = splits_of(kernel, current_options(), *problem);
    made->parameters = plan_sizes(*problem, made->splits);
    if (const Failure failure = plan_indices(*tensors, *made); failure.status != PLUMBLINE_OK) {
      return answer(failure.status, failure.text, reason, reason_bytes);
    }
    made->grid = grid_of(kernel, *made->instance, *problem, made->parameters.rows, made->splits);
    const std::int64_t floats =
        partial_floats(made->parameters, true) + partial_floats(made->parameters, false);
    *workspace_bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
    *plan = made.release();
    return PLUMBLINE_OK;
  });
}

// ---- run ----

std::string merge(const plumbline_plan& plan, void* stream) {
  const auto all = merge_instances();
  const auto instance = std::find_if(
      all.begin(), all.end(), [&](const Instance& i) { return i.dtype == plan.problem.dtype_q; });
  const Grid grid{static_cast<unsigned>(plan.parameters.rows),
                  static_cast<unsigned>(plan.problem.heads_q), 1};
  return launch(plan.device, current_options(), *instance, grid, 0, plan.parameters, stream);
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                     char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    Parameters& p = plan->parameters;
    map_tensors(plan->problem, *tensors, p);
    if (p.rows == 0) return PLUMBLINE_OK;
    if (p.splits > 1) {
      p.partial_out = static_cast<float*>(tensors->workspace.data);
      p.partial_sums = p.partial_out + partial_floats(p, true);
    }
    const int shared = shared_bytes_of(*plan->instance, plan->problem);
    std::string error =
        launch(plan->device, current_options(), *plan->instance, plan->grid, shared, p, stream);
    if (error.empty() && p.splits > 1) error = merge(*plan, stream);
    if (error.empty()) return PLUMBLINE_OK;
    return answer(PLUMBLINE_ERROR, full_name(*plan->kernel) + ": " + error, reason, reason_bytes);
  });
}

// ---- describe ----

plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
  return guarded(nullptr, 0, [&] {
    if (description->struct_size < sizeof(plumbline_description)) return PLUMBLINE_ERROR;
    const Kernel& kernel = *plan->kernel;
    const Instance& instance = *plan->instance;
    const Attributes attributes = attributes_of(instance);
    const std::string& options = current_options().text;
    description->padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
    std::snprintf(description->launched, sizeof description->launched,
                  "%s tile %dx%d grid %ux%ux%u block %d, %d split%s, %s accumulate%s%s",
                  full_name(kernel).c_str(), instance.tile_q, instance.tile_kv, plan->grid.x,
                  plan->grid.y, plan->grid.z, instance.threads, plan->splits.count,
                  plan->splits.count == 1 ? "" : "s",
                  instance.accumulator == PLUMBLINE_F16 ? "fp16" : "fp32",
                  options.empty() ? "" : ", options ", options.c_str());
    std::snprintf(description->build_id, sizeof description->build_id, "%s%s%.30s", build_id(),
                  options.empty() ? "" : "+", options.c_str());
    std::snprintf(description->tensor_cores, sizeof description->tensor_cores, "%s",
                  kernel.tensor_cores ? "on" : "off");
    std::snprintf(description->device_arch, sizeof description->device_arch, "%s",
                  arch_of(plan->device).c_str());
    description->spec =
        spec_of(kernel, current_options(), plan->problem, arch_number(plan->device));
    description->promises = promises_of(kernel, current_options());
    description->registers_per_thread = attributes.registers;
    // local memory holds arrays as well as spills: the runtime cannot tell them apart
    description->spill_bytes_per_thread = -1;
    description->shared_memory_bytes =
        attributes.static_shared_bytes + shared_bytes_of(instance, plan->problem);
    description->stack_bytes_per_thread = attributes.stack_bytes;
    return PLUMBLINE_OK;
  });
}

void destroy(plumbline_plan* plan) { delete plan; }

const char* kernel_name(std::uint32_t kernel) {
  return kernel < kernels().size() ? kernels()[kernel].name : nullptr;
}
const char* kernel_tensor_cores(std::uint32_t kernel) {
  if (kernel >= kernels().size()) return nullptr;
  return kernels()[kernel].tensor_cores ? "on" : "off";
}

}  // namespace

const plumbline_provider& provider_with(std::string_view options) {
  static plumbline_provider provider{};
  current_options() = parse_options(options);
  provider.struct_size = sizeof provider;
  provider.abi_version = PLUMBLINE_ABI_VERSION;
  provider.name = provider_name();
  provider.version = PLUMBLINE_ATTENTION_VERSION;
  provider.kernel_count = static_cast<std::uint32_t>(kernels().size());
  provider.kernel_name = kernel_name;
  provider.query = query;
  provider.prepare = prepare;
  provider.run = run;
  provider.describe = describe;
  provider.destroy = destroy;
  provider.memory = device_memory();
  provider.kernel_tensor_cores = kernel_tensor_cores;
  return provider;
}

}  // namespace plumbline::attention
