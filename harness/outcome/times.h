// How long one case took: every sample, and what stood around it. Nights are compared by `ratio`
// alone (docs/nights.md, "Measuring").
#pragma once

#include <string>
#include <vector>

namespace plumbline {

// What one worker process measured. Nanoseconds per call, one entry per repetition; entry i of each
// list was measured beside entry i of the others.
struct TimeRound {
  std::vector<double> kernel_ns;    // wall clock; on a GPU its own clock, with a flushed L2
  std::vector<double> sentinel_ns;  // likewise, of the fixed piece of work beside the kernel
  // processor time of the whole worker process; empty on a GPU
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  std::vector<double> hot_ns;  // only on a GPU: with what the call before left in its L2
  // Only on a GPU whose driver tells: when repetition i of kernel_ns and of hot_ns ended, the clock
  // in MHz, and the bits of nvmlClocksThrottleReason….
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double load = 0;        // the host's load average over one minute when it began; 0 = unknown
  double mhz = 0;         // clock of the processor, or of the GPU's multiprocessors; 0 = unknown
  double plan_ns = 0;     // of preparing the kernel once, which no call contains; 0 = unknown
  std::string throttled;  // why a GPU ran slower than it could, "" = it did not, or unknown
  // Repetitions that nobody disturbed (SentinelPace); 0 = none, or nobody looked.
  double quiet = 0;
  double ratio = 0;  // of this round: what gates, 0 = none
  bool operator==(const TimeRound&) const = default;
};

// Times::physics beyond which no kernel did the work: the peaks are measured, too.
inline constexpr double most_of_physics = 1.2;

struct Times {
  std::vector<TimeRound> rounds;  // empty: not timed, or by an older plumbline
  double cpu_ns = 0;              // processor time of one call, median of the rounds; 0 = a GPU
  double sentinel_ns = 0;         // of the sentinel, by the clock that gates; median of the rounds
  // What the visible pairs ask for over the wall time of a call, and their share of what the same
  // processor reached in the same run; 0 = not measured.
  double flops_per_second = 0, bytes_per_second = 0;
  double flops_share = 0, bytes_share = 0;
  // The least processor time that any kernel needs here over what this one took; 0 = not measured.
  double physics = 0;
  // The ratio of a second measurement of the same night, of the cases drawn for it; 0 = not drawn.
  double second_ratio = 0;
  // Ratios of the fresh processes that were asked about a candidate, in their order.
  std::vector<double> fresh_ratios;
  bool operator==(const Times&) const = default;
};

}  // namespace plumbline
