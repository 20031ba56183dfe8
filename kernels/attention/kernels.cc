// Chooses instance, grid and splits, refuses unsupported problems, and declares roundings.
#include "kernels/attention/kernels.h"

#include <algorithm>
#include <array>

#include "emulator/architectures.h"

namespace plumbline::attention {
namespace {

constexpr std::array all_kernels{
    Kernel{.name = "naive", .instances = "naive", .one_row_per_block = true},
    Kernel{.name = "prefill_mma",
           .instances = "prefill_mma",
           .accumulator = PLUMBLINE_DTYPE_NONE,
           .tensor_cores = true,
           .copies_chunks = true},
    Kernel{.name = "prefill_mma_acc16",
           .instances = "prefill_mma",
           .accumulator = PLUMBLINE_F16,
           .tensor_cores = true,
           .copies_chunks = true},
    Kernel{.name = "prefill_simt", .instances = "prefill_simt"},
    Kernel{.name = "decode_mma",
           .instances = "decode_mma",
           .tensor_cores = true,
           .splits_kv = true,
           .packs_heads = true,
           .copies_chunks = true},
    Kernel{.name = "decode_simt",
           .instances = "decode_simt",
           .splits_kv = true,
           .one_row_per_block = true,
           .copies_chunks = true},
};

constexpr int split_multiple = 128;  // a multiple of every tile of keys
constexpr int default_split_keys = 512;
constexpr std::int64_t max_blocks_per_axis = 65535;  // in y and z

using provider::dtype_name;
using provider::is_fp8;

std::vector<const Instance*> instances_of(const Kernel& kernel, const plumbline_problem& problem,
                                          std::uint32_t accumulator) {
  std::vector<const Instance*> found;
  for (const InstanceSource& source : instance_sources) {
    for (const Instance& i : source.instances()) {
      const bool suits = i.dtype == problem.dtype_q && i.fp8_kv == is_fp8(problem.dtype_kv) &&
                         i.accumulator == accumulator;
      if (suits && std::string_view(i.kernel) == kernel.instances) found.push_back(&i);
    }
  }
  return found;
}

bool is_stored(std::uint32_t dtype) { return dtype == PLUMBLINE_F32 || provider::is_16_bit(dtype); }

std::int64_t round_up_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string refuse_dtypes(const plumbline_problem& problem) {
  const bool fp8_beside_16_bits = is_fp8(problem.dtype_kv) && problem.dtype_q != PLUMBLINE_F32;
  if (!is_stored(problem.dtype_q) || (problem.dtype_kv != problem.dtype_q && !fp8_beside_16_bits)) {
    return std::string(
               "needs Q, K and V in one of fp32, fp16, bf16, or K and V in fp8 beside fp16 or bf16 "
               "(got ") +
           dtype_name(problem.dtype_q) + " and " + dtype_name(problem.dtype_kv) + ")";
  }
  if (problem.dtype_out != problem.dtype_q && problem.dtype_out != PLUMBLINE_F32)
    return "writes the dtype of Q or fp32";
  return "";
}

std::string refuse_features(const plumbline_problem& problem) {
  if (problem.layout > PLUMBLINE_PAGED_HND)
    return "unknown layout " + std::to_string(problem.layout);
  if (problem.mask > PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT) return "does not take masks of bits";
  return "";
}

std::string refuse_size(const Grid& grid) {
  if (grid.y > max_blocks_per_axis || grid.z > max_blocks_per_axis)
    return "more heads, or samples times splits, than the 65535 blocks of a grid's axis";
  return "";
}

// Returns how the architecture's tensor core accumulates a step of products.
plumbline_accumulator tensor_core(std::uint32_t accumulator, std::uint32_t dtype, int arch) {
  const TensorCoreSums sums = tensor_core_sums(arch);
  const int products = dtype == PLUMBLINE_F32 ? sums.products_tf32 : sums.products_16_bit;
  return {accumulator, accumulator == PLUMBLINE_F32 ? 1U : 0U,
          static_cast<std::uint32_t>(sums.fraction_bits), static_cast<std::uint32_t>(products)};
}

std::uint32_t accumulator_of(const Kernel& kernel, const Options& options) {
  return kernel.accumulator != PLUMBLINE_DTYPE_NONE ? kernel.accumulator : options.accumulator;
}

}  // namespace

std::span<const Kernel> kernels() { return all_kernels; }

const Instance* choose(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, std::string& reason) {
  const bool tiled = std::string_view(kernel.instances) == "prefill_mma" && options.tile_q != 0;
  std::string dims, tiles;
  for (const Instance* instance : instances_of(kernel, problem, accumulator_of(kernel, options))) {
    if (instance->head_dim == 0) return instance;
    if (problem.head_dim_qk != instance->head_dim || problem.head_dim_vo != instance->head_dim) {
      const std::string dim = std::to_string(instance->head_dim);
      if (dims.find(dim) == dims.npos) dims += (dims.empty() ? "" : ", ") + dim;
      continue;
    }
    if (!tiled || (options.tile_q == instance->tile_q && options.tile_kv == instance->tile_kv))
      return instance;
    tiles += (tiles.empty() ? "" : ", ") + std::to_string(instance->tile_q) + "x" +
             std::to_string(instance->tile_kv);
  }
  if (!tiles.empty()) {
    reason = "tile=" + std::to_string(options.tile_q) + "x" + std::to_string(options.tile_kv) +
             " is not compiled for this problem; there is " + tiles;
  } else if (dims.empty()) {
    reason = is_fp8(problem.dtype_kv)
                 ? "does not take fp8 K and V if it accumulates in fp16"
                 : std::string("takes only fp16 inputs if it accumulates in fp16 (got ") +
                       dtype_name(problem.dtype_q) + ")";
  } else {
    reason = "takes head dimensions " + dims + " alike for Q, K and V" +
             (is_fp8(problem.dtype_kv) ? " in fp8" : "") + " (got " +
             std::to_string(problem.head_dim_qk) + " and " + std::to_string(problem.head_dim_vo) +
             ")";
  }
  return nullptr;
}

std::string refuse(const Kernel& kernel, const Options& options, const plumbline_problem& problem,
                   const plumbline_device& device) {
  if (std::string reason = refuse_dtypes(problem); !reason.empty()) return reason;
  if (std::string reason = refuse_features(problem); !reason.empty()) return reason;
  std::string reason;
  const Instance* instance = choose(kernel, options, problem, reason);
  if (instance == nullptr) return reason;
  if (kernel.tensor_cores && arch_number(device) < 80)
    return "needs the tensor cores of sm_80 (this is " + arch_of(device) + ")";
  const int shared = shared_bytes_of(*instance, problem),
            most = static_cast<int>(max_block_shared_bytes(device));
  if (shared > most) {
    return "needs " + std::to_string(shared) + " bytes of shared memory, of which a block of " +
           arch_of(device) + " has " + std::to_string(most);
  }
  return refuse_size(
      grid_of(kernel, *instance, problem, problem.total_q, splits_of(kernel, options, problem)));
}

std::string refuse_tensors(const Kernel& kernel, const plumbline_tensors& tensors) {
  if (!kernel.copies_chunks) return "";
  for (const plumbline_tensor* tensor : {&tensors.q, &tensors.k, &tensors.v}) {
    const std::int64_t size = provider::dtype_bytes(tensor->dtype);
    bool fits = tensor->stride[tensor->rank - 1] == 1 &&
                reinterpret_cast<std::uintptr_t>(tensor->data) % 16 == 0;
    for (std::uint32_t i = 0; i + 1 < tensor->rank; ++i)
      fits = fits && tensor->stride[i] * size % 16 == 0;
    if (!fits)
      return "copies 16 bytes at a time: rows of Q, K and V must be contiguous and 16-byte aligned";
  }
  return "";
}

Splits splits_of(const Kernel& kernel, const Options& options, const plumbline_problem& problem) {
  const std::int64_t seq = std::max<std::int64_t>(problem.seq_kv, 1);
  if (!kernel.splits_kv || options.splits == 1)
    return {1, static_cast<int>(round_up_divide(seq, split_multiple) * split_multiple)};
  const std::int64_t wanted =
      options.splits == 0 ? default_split_keys : round_up_divide(seq, options.splits);
  const std::int64_t keys = round_up_divide(wanted, split_multiple) * split_multiple;
  return {static_cast<int>(round_up_divide(seq, keys)), static_cast<int>(keys)};
}

Grid grid_of(const Kernel& kernel, const Instance& instance, const plumbline_problem& problem,
             std::int64_t rows, const Splits& splits) {
  const auto of = [](std::int64_t n) { return static_cast<unsigned>(n); };
  if (kernel.one_row_per_block) return {of(rows), of(problem.heads_q), of(splits.count)};
  if (!kernel.packs_heads)
    return {of(round_up_divide(problem.seq_q, instance.tile_q)), of(problem.heads_q),
            of(problem.batch)};
  const std::int64_t group = problem.heads_q / problem.heads_kv;
  return {of(round_up_divide(problem.seq_q * group, instance.tile_q)), of(problem.heads_kv),
          of(problem.batch * splits.count)};
}

int shared_bytes_of(const Instance& instance, const plumbline_problem& problem) {
  const std::int64_t rows = instance.head_dim == 0 && instance.shared_bytes > 0
                                ? problem.head_dim_qk + problem.head_dim_vo
                                : 0;
  return instance.shared_bytes + static_cast<int>(rows * static_cast<std::int64_t>(sizeof(float)));
}

void declare_roundings(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, int arch, plumbline_rounding_spec& spec) {
  if (std::string_view(kernel.instances) == "prefill_simt") spec.p_dtype = options.p_dtype;
  if (!kernel.tensor_cores) return;
  const bool tf32 = problem.dtype_q == PLUMBLINE_F32;
  spec.p_dtype = tf32 ? static_cast<std::uint32_t>(PLUMBLINE_TF32) : problem.dtype_q;
  spec.qk_accumulator = spec.pv_accumulator =
      tensor_core(accumulator_of(kernel, options), problem.dtype_q, arch);
  if (tf32) spec.kv_dequantized_to = PLUMBLINE_TF32;
}

// A row's bits depend neither on other rows nor on its position. With splits=N, the longest sample
// determines the split boundaries.
plumbline_promises promises_of(const Kernel& kernel, const Options& options) {
  plumbline_promises promises = provider::promises(PLUMBLINE_PROMISE_BITWISE);
  promises.split = PLUMBLINE_PROMISE_ROUNDING;
  if (kernel.splits_kv && options.splits > 1) promises.batch = PLUMBLINE_PROMISE_ROUNDING;
  return promises;
}

}  // namespace plumbline::attention
