// Time on a GPU, and the bandwidth and peaks that a kernel's rate is a share of. They are what the
// GPU at hand can do at most.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace plumbline::testing {

// Of runs on the default stream, each between two CUDA events, after warming up.
struct Times {
  std::string error;  // empty: measured
  double median_ms = 0, least_ms = 0, most_ms = 0;
  int runs = 0;
};
struct TimeOptions {
  int warm_up = 3;
  int most_runs = 51, least_runs = 5;
  double budget_s = 2;  // fewer runs where they would take longer than this
};
// `enqueue` returns what went wrong, or nothing.
Times time_runs(const std::function<std::string()>& enqueue, const TimeOptions& options = {});

// A kernel that copies `bytes` of device memory: bytes that are read and written, per second. Fewer
// bytes where memory is short.
struct Rate {
  std::string error;  // empty: measured
  double per_second = 0;
};
Rate copy_rate(std::uint64_t bytes, const TimeOptions& options = {});

// Multiplications and additions per second of a loop over registers alone.
enum class Peak {
  mma_f16,   // mma.sync m16n8k16, fp32 accumulators
  mma_bf16,  // likewise
  mma_tf32,  // mma.sync m16n8k8, fp32 accumulators
  fma_f32,   // CUDA cores
};
Rate peak_rate(Peak peak, const TimeOptions& options = {});

// "0000:19:00.0": what nvidia-smi knows device 0 by.
std::string bus_id();

}  // namespace plumbline::testing
