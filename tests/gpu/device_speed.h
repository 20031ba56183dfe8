// Times on a GPU, and its bandwidth and peaks, which are the limits for a kernel's rate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace plumbline::testing {

// Times of runs on the default stream, each between two CUDA events, after warming up.
struct Times {
  std::string error;  // empty on success
  double median_ms = 0, min_ms = 0, max_ms = 0;
  int runs = 0;
};
struct TimeOptions {
  int warm_up = 3;
  int max_runs = 51, min_runs = 5;
  double budget_s = 2;  // fewer runs if they would take longer
};
// `enqueue` returns an error, or "".
Times time_runs(const std::function<std::string()>& enqueue, const TimeOptions& options = {});

// Returns the bytes per second, read and written, of a kernel that copies `bytes` of device memory.
// Copies fewer bytes if memory is short.
struct Rate {
  std::string error;  // empty on success
  double per_second = 0;
};
Rate copy_rate(std::uint64_t bytes, const TimeOptions& options = {});

// A loop over registers only. Its rate is multiplications and additions per second.
enum class Peak {
  mma_f16,   // mma.sync m16n8k16, fp32 accumulators
  mma_bf16,  // mma.sync m16n8k16, fp32 accumulators
  mma_tf32,  // mma.sync m16n8k8, fp32 accumulators
  fma_f32,   // CUDA cores
};
Rate peak_rate(Peak peak, const TimeOptions& options = {});

// Returns the id of device 0 in nvidia-smi, "0000:19:00.0".
std::string bus_id();

}  // namespace plumbline::testing
