// FlashInfer's planner and launchers, for each instance. Needs none of FlashInfer's headers.
// prefill.h and decode.h set FlashInfer's parameters as csrc/batch_prefill.cu and batch_decode.cu
// of its Python package do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/compiled/machine.h"

namespace plumbline::flashinfer_kernels {

enum class Kind { ragged, paged, decode };

// A compiled instance, in a source file of its own.
struct Instance {
  Kind kind;
  bool is_bf16;
  int head_dim;
  bool causal;
  bool operator==(const Instance& other) const {
    return kind == other.kind && is_bf16 == other.is_bf16 && head_dim == other.head_dim &&
           causal == other.causal;
  }
};

// Strides in elements. A ragged tensor has no pages.
struct Rows {
  void* data = nullptr;
  std::int64_t page = 0, token = 0, head = 0;
};

struct Call {
  int batch = 0, heads_q = 0, heads_kv = 0;
  int total_q = 0;
  int page_size = 1;  // 1 for a ragged problem
  float scale = 0;
  // Pages of the KV cache per block; 0: the planner chooses. unsplit: all pages.
  int fixed_split_pages = 0;
  bool unsplit = false;
  Rows q, k, v;
  void* out = nullptr;   // [total_q, heads_q, head_dim]
  float* lse = nullptr;  // [total_q, heads_q] to base 2, or null
  // Cumulative sums over samples, [batch + 1]: of queries, and of keys (ragged) or pages (paged).
  std::vector<std::int32_t> sums_q, sums_kv;
  // The sums on the device. For a paged cache also the pages of all samples and the tokens in each
  // sample's last page.
  std::unique_ptr<compiled::DeviceArray> device_sums_q, device_sums_kv, pages, last_page;
};

// The planner's result: its PlanInfo, which FlashInfer passes from plan to run, and its index
// arrays on the device.
struct Planned {
  std::vector<std::int64_t> info;
  std::unique_ptr<compiled::DeviceArray> indices;
  std::size_t float_bytes = 0;  // workspace of a run, 16-byte aligned
  // For descriptions.
  int tile_q = 0;  // rows of Q times the group size in a block; 0: a decode kernel
  std::int64_t blocks = 0;
  bool split = false;
};

struct Launcher {
  Instance instance;
  // Plans with memory and the stream of these tensors. Throws FlashInfer's exceptions, and Refused
  // if a call of the runtime failed.
  void (*plan)(const Call&, const plumbline_tensors&, Planned&);
  // Enqueues on a cudaStream_t. `floats` has the plan's float_bytes.
  void (*run)(const Call&, const Planned&, void* floats, void* stream);
};

// Returns null if the instance is not compiled.
const Launcher* find_launcher(const Instance&);

}  // namespace plumbline::flashinfer_kernels
