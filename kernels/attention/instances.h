// The compiled instantiations from which the provider chooses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <typeinfo>

#include "kernels/attention/parameters.h"

namespace plumbline::attention {

struct Instance {
  const char* kernel;                         // "prefill_mma"
  std::uint32_t dtype;                        // plumbline_dtype of Q, K, V
  bool fp8_kv = false;                        // K and V in e4m3 or e5m2
  std::uint32_t accumulator = PLUMBLINE_F32;  // or PLUMBLINE_F16, on tensor cores
  int head_dim = 0;                           // 0: any
  int tile_q = 1, tile_kv;
  int stages = 0;  // tiles of K and V that shared memory holds at a time
  int threads;
  int shared_bytes;  // dynamic; naive needs head_dim_qk + head_dim_vo more floats
  bool tensor_cores = false;
  void (*function)(Parameters);
  const char* symbol;    // the function template
  const char* argument;  // its argument, as typeid names it
};

// Each has its own source file.
std::span<const Instance> naive_instances();
std::span<const Instance> prefill_mma_fp16_instances();
std::span<const Instance> prefill_mma_bf16_instances();
std::span<const Instance> prefill_mma_tf32_instances();
std::span<const Instance> prefill_simt_instances();
std::span<const Instance> decode_mma_instances();
std::span<const Instance> decode_simt_instances();
std::span<const Instance> merge_instances();

// A source file, `name`.cu, and its instances.
struct InstanceSource {
  std::string_view name;
  std::span<const Instance> (*instances)();
};
inline constexpr InstanceSource instance_sources[] = {
    {"naive", naive_instances},
    {"prefill_mma_fp16", prefill_mma_fp16_instances},
    {"prefill_mma_bf16", prefill_mma_bf16_instances},
    {"prefill_mma_tf32", prefill_mma_tf32_instances},
    {"prefill_simt", prefill_simt_instances},
    {"decode_mma", decode_mma_instances},
    {"decode_simt", decode_simt_instances},
    {"merge_splits", merge_instances},
};

// The plumbline_dtype of a storage type.
struct Half;
struct BFloat16;
template <class Element>
inline constexpr std::uint32_t dtype_of = PLUMBLINE_F32;
template <>
inline constexpr std::uint32_t dtype_of<Half> = PLUMBLINE_F16;
template <>
inline constexpr std::uint32_t dtype_of<BFloat16> = PLUMBLINE_BF16;

// Returns the instance of a tiled kernel with the properties of Tiling.
template <class Tiling>
Instance instance(const char* kernel, bool tensor_cores, void (*function)(Parameters)) {
  std::uint32_t accumulator = PLUMBLINE_F32;
  if constexpr (requires { typename Tiling::Accumulator; })
    accumulator = dtype_of<typename Tiling::Accumulator>;
  return {.kernel = kernel,
          .dtype = dtype_of<typename Tiling::Element>,
          .fp8_kv = sizeof(typename Tiling::KvElement) == 1,
          .accumulator = accumulator,
          .head_dim = Tiling::head_dim,
          .tile_q = Tiling::tile_q,
          .tile_kv = Tiling::tile_kv,
          .stages = Tiling::stages,
          .threads = Tiling::threads,
          .shared_bytes = Tiling::shared_bytes,
          .tensor_cores = tensor_cores,
          .function = function,
          .symbol = kernel,
          .argument = typeid(Tiling).name()};
}

// Returns the instances of all tilings. `kernel_of` gets a pointer to a tiling and returns its
// kernel.
template <class... Tilings, class KernelOf>
std::span<const Instance> instances_of(const char* kernel, bool tensor_cores, KernelOf kernel_of) {
  static const Instance all[] = {
      instance<Tilings>(kernel, tensor_cores, kernel_of(static_cast<const Tilings*>(nullptr)))...};
  return all;
}

}  // namespace plumbline::attention
