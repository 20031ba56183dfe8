// The providers "cuda" and "emulated": our kernels as a plumbline_provider.h library. Host code
// only.
#include "kernels/attention/provider.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/cpu/log2_series.h"

namespace plumbline::attention {
namespace {

Options& current_options() {
  static Options options;
  return options;
}

std::string full_name(const Kernel& kernel) {
  return std::string(provider_name()) + "/" + kernel.name;
}

// ---- Building a plan ----

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
  const bool padded = provider::is_padded(problem.layout);
  const bool keys_have_outer = padded || provider::is_paged(problem.layout);
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

// Appends cu_seqlens computed from the lengths, which every layout has.
void append_sums(const plumbline_tensor& lengths, std::int64_t batch,
                 std::vector<std::int32_t>& values) {
  const auto* data = static_cast<const std::int32_t*>(lengths.data);
  std::int32_t sum = 0;
  values.push_back(sum);
  for (std::int64_t i = 0; i < batch; ++i) values.push_back(sum += data[i]);
}

// cu_seqlens_q, cu_seqlens_kv, then the page table, in one array of the device.
void plan_indices(const plumbline_tensors& tensors, Plan& plan) {
  const plumbline_problem& problem = plan.problem;
  const bool paged = provider::is_paged(problem.layout);
  std::vector<std::int32_t> values;
  append_sums(tensors.seqlens_q, problem.batch, values);
  append_sums(tensors.seqlens_kv, problem.batch, values);
  Parameters& p = plan.parameters;
  p.rows = p.padded != 0 ? problem.batch * problem.seq_q
                         : values[static_cast<std::size_t>(problem.batch)];
  if (paged) {
    const auto* table = static_cast<const std::int32_t*>(tensors.page_table.data);
    values.insert(values.end(), table, table + problem.batch * tensors.page_table.extent[1]);
  }
  plan.indices = copy_indices(plan.device, std::move(values));
  p.cu_seqlens_q = plan.indices->data();
  p.cu_seqlens_kv = p.cu_seqlens_q + problem.batch + 1;
  if (!paged) return;
  p.page_table = p.cu_seqlens_kv + problem.batch + 1;
  p.pages_per_sample = tensors.page_table.extent[1];
  p.page_size = static_cast<std::int32_t>(problem.page_size);
}

// Limits a window to 2^29 keys, more than any sequence has, so that position + window fits 32 bits.
std::int32_t window(std::int64_t keys) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(keys, 1 << 29));
}

Parameters plan_sizes(const plumbline_problem& problem, const Options& options,
                      const Splits& splits) {
  Parameters p{};
  p.heads_q = static_cast<std::int32_t>(problem.heads_q);
  p.group = static_cast<std::int32_t>(problem.heads_q / problem.heads_kv);
  p.head_dim_qk = static_cast<std::int32_t>(problem.head_dim_qk);
  p.head_dim_vo = static_cast<std::int32_t>(problem.head_dim_vo);
  p.causal = problem.mask != PLUMBLINE_MASK_NONE ? 1 : 0;
  p.top_left = problem.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT ? 1 : 0;
  p.padded = provider::is_padded(problem.layout) ? 1 : 0;
  p.padded_left = p.padded != 0 && problem.padding == PLUMBLINE_PADDING_LEFT ? 1 : 0;
  p.window_left = window(problem.window_left);
  p.window_right = window(problem.window_right);
  p.logit_scale = static_cast<float>(problem.softcap != 0 ? problem.scale / problem.softcap
                                                          : problem.scale * log2_e);
  p.softcap_log2 = static_cast<float>(problem.softcap * log2_e);
  p.adjusts_logits = problem.softcap != 0 || problem.has_alibi != 0 ? 1 : 0;
  p.dtype_kv = problem.dtype_kv;
  p.dtype_out = problem.dtype_out;
  p.p_dtype = options.p_dtype;
  p.splits = splits.count;
  p.split_keys = splits.keys;
  return p;
}

// Returns the number of floats of the partial results: of O, or of m and l.
std::int64_t partial_floats(const Parameters& p, bool of_out) {
  return p.splits > 1 ? p.splits * p.rows * p.heads_q * (of_out ? p.head_dim_vo : 2) : 0;
}

// Each call requests an order of threads; an explicit option overrides it.
Options options_of_run(const Options& options, const plumbline_tensors& tensors) {
  using Schedule = Options::Schedule;
  Options of_run = options;
  if (of_run.schedule == Schedule::alternating)
    of_run.schedule = tensors.threads_reversed != 0 ? Schedule::reversed : Schedule::in_order;
  return of_run;
}

std::string merge(const Plan& plan, const Options& options, void* stream) {
  const auto all = merge_instances();
  const auto instance = std::find_if(
      all.begin(), all.end(), [&](const Instance& i) { return i.dtype == plan.problem.dtype_q; });
  const Grid grid{static_cast<unsigned>(plan.parameters.rows),
                  static_cast<unsigned>(plan.problem.heads_q), 1};
  return launch(plan.device, options, *instance, grid, 0, plan.parameters, stream);
}

}  // namespace

const char* Attention::version() { return PLUMBLINE_ATTENTION_VERSION; }

std::string Attention::set_options(std::string_view text) {
  return parse_options(text, current_options());
}

std::string Attention::refusal(const Kernel& kernel, const plumbline_problem& problem,
                               const plumbline_device& device) {
  if (std::string why = refuse_device(device); !why.empty()) return why;
  const std::string why = refuse(kernel, current_options(), problem, device);
  return why.empty() ? "" : full_name(kernel) + " " + why;
}

Plan Attention::prepare(const Kernel& kernel, const plumbline_problem& problem,
                        const plumbline_tensors& tensors, const plumbline_device& device,
                        std::uint64_t& workspace_bytes) {
  if (const std::string why = refuse_tensors(kernel, tensors); !why.empty())
    throw provider::Refused(PLUMBLINE_UNSUPPORTED, full_name(kernel) + " " + why);
  const Options& options = current_options();
  const Splits splits = splits_of(kernel, options, problem);
  std::string why;
  Plan plan{.kernel = &kernel,
            .instance = choose(kernel, options, problem, why),
            .options = options,
            .problem = problem,
            .device = device,
            .parameters = plan_sizes(problem, options, splits),
            .splits = splits,
            .grid = {},
            .indices = nullptr};
  plan_indices(tensors, plan);
  plan.grid = grid_of(kernel, *plan.instance, problem, plan.parameters.rows, splits);
  const std::int64_t floats =
      partial_floats(plan.parameters, true) + partial_floats(plan.parameters, false);
  workspace_bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
  return plan;
}

void Attention::run(Plan& plan, const plumbline_tensors& tensors, void* stream) {
  Parameters& p = plan.parameters;
  map_tensors(plan.problem, tensors, p);
  if (p.rows == 0) return;
  if (p.splits > 1) {
    p.partial_out = static_cast<float*>(tensors.workspace.data);
    p.partial_sums = p.partial_out + partial_floats(p, true);
  }
  const int shared = shared_bytes_of(*plan.instance, plan.problem);
  const Options options = options_of_run(plan.options, tensors);
  std::string error = launch(plan.device, options, *plan.instance, plan.grid, shared, p, stream);
  if (error.empty() && p.splits > 1) error = merge(plan, options, stream);
  if (!error.empty())
    throw provider::Refused(PLUMBLINE_ERROR, full_name(*plan.kernel) + ": " + error);
}

void Attention::describe(const Plan& plan, plumbline_description& description) {
  const Kernel& kernel = *plan.kernel;
  const Instance& instance = *plan.instance;
  const Attributes attributes = attributes_of(instance);
  const std::string& options = plan.options.text;
  description.padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
  std::snprintf(description.launched, sizeof description.launched,
                "%s tile %dx%d grid %ux%ux%u block %d, %d split%s, %s accumulate%s%s",
                full_name(kernel).c_str(), instance.tile_q, instance.tile_kv, plan.grid.x,
                plan.grid.y, plan.grid.z, instance.threads, plan.splits.count,
                plan.splits.count == 1 ? "" : "s", provider::dtype_name(instance.accumulator),
                options.empty() ? "" : ", options ", options.c_str());
  std::snprintf(description.build_id, sizeof description.build_id, "%s%s%.30s", build_id(),
                options.empty() ? "" : "+", options.c_str());
  provider::copy_text(arch_of(plan.device), description.device_arch);
  declare_roundings(kernel, plan.options, plan.problem, arch_number(plan.device), description.spec);
  description.promises = promises_of(kernel, plan.options);
  description.registers_per_thread = attributes.registers;
  // local memory includes arrays and spills, which the runtime cannot tell apart
  description.spill_bytes_per_thread = -1;
  description.shared_memory_bytes =
      attributes.static_shared_bytes + shared_bytes_of(instance, plan.problem);
  description.stack_bytes_per_thread = attributes.stack_bytes;
}

}  // namespace plumbline::attention
