// The times of one case: every sample and its conditions. Only time ratios are compared between
// nights (docs/nights.md, "Measuring").
#pragma once

#include <string>
#include <vector>

namespace plumbline {

// The measurements of one worker process: nanoseconds per call, one entry per repetition. Entry i
// of each list was measured next to entry i of the others.
struct TimeRound {
  std::vector<double> kernel_ns;    // wall clock; on a GPU its own clock, with a flushed L2
  std::vector<double> sentinel_ns;  // the same for the fixed work next to the kernel
  // processor time of the whole worker process; empty on a GPU
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  std::vector<double> hot_ns;  // GPU only: with the L2 as the previous call left it
  // GPU only, if the driver reports it: the clock in MHz and the bits of nvmlClocksThrottleReason…
  // when repetition i of kernel_ns and of hot_ns ended.
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double load = 0;        // the host's load average over one minute at the start; 0 = unknown
  double mhz = 0;         // clock of the processor or of the GPU's multiprocessors; 0 = unknown
  double plan_ns = 0;     // time to prepare the kernel once, not part of a call; 0 = unknown
  std::string throttled;  // why a GPU ran slower than it could; "" = it did not, or unknown
  // Undisturbed repetitions (SentinelPace); 0 = none, or unknown.
  double quiet = 0;
  double ratio = 0;  // time ratio of this round; 0 = none
  bool operator==(const TimeRound&) const = default;
};

// The largest credible Times::physics; above 1, because the measured peaks have errors.
inline constexpr double max_physics = 1.2;

struct Times {
  std::vector<TimeRound> rounds;  // empty: not timed, or measured by an older plumbline
  double cpu_ns = 0;              // processor time of one call (summarise_rounds()); 0 = a GPU
  double sentinel_ns = 0;         // time of the sentinel by the gating clock (summarise_rounds())
  // Work of the visible pairs (work.h) per wall time of a call. On the CPU also its share of the
  // peak that this process reached, by processor time; 0 = not measured.
  double flops_per_second = 0, bytes_per_second = 0;
  double flops_share = 0, bytes_share = 0;
  // The least processor time that any kernel needs here, over the measured one; 0 = not measured.
  double physics = 0;
  // Ratio of a second measurement in the same night, for cases drawn for it; 0 = not drawn.
  double second_ratio = 0;
  // Ratios of the fresh processes that measured a candidate again, in order.
  std::vector<double> fresh_ratios;
  bool operator==(const Times&) const = default;
};

}  // namespace plumbline
