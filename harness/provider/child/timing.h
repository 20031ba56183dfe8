// Times a kernel and a sentinel in turn, with Google Benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/provider/child/device_memory.h"
#include "harness/provider/child/gpu_clocks.h"

namespace plumbline {

// A repetition takes about 2 ms (on a device 5 ms), or one call if that takes longer. Entries with
// the same index were measured one after the other.
struct TimesInTurn {
  std::vector<double> kernel_ns, sentinel_ns;          // per call
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;  // only time_in_turn: of the whole process
  // Only time_on_device. The clocks are samples of GpuClocks at the end of each repetition of
  // kernel_ns and hot_ns; empty if GpuClocks has none.
  std::vector<double> hot_ns, kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
};

// Times with the host's clock and the process's processor time (CLOCK_PROCESS_CPUTIME_ID, all
// threads), in turn with run_sentinel(). `run` makes `calls` calls and waits for them; it may
// throw. Other processes affect processor time only through shared resources. If calls are long,
// there are fewer repetitions: as many as fit 100 ms, but at least 4.
//
// If `quiet_ns` is not 0, each repetition waits until a sentinel call takes at most that long,
// because other virtual machines may use the core for milliseconds or seconds. All repetitions
// together wait at most 0.5 s.
TimesInTurn time_in_turn(const std::function<void(std::int64_t calls)>& run, int repetitions,
                         double quiet_ns = 0);

// Times with the device's clock, on `stream`. Requires memory.has_clock(). `call` enqueues one
// call; it may throw. All launches of a measurement are enqueued before the first one begins, so
// that the host's speed does not count.
//   kernel_ns    cold: twice the L2 is filled before each call, untimed
//   hot_ns       calls back to back
//   sentinel_ns  copies within the L2: a quarter of it to another quarter, eight times
TimesInTurn time_on_device(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes,
                           const GpuClocks& clocks, const std::function<void()>& call,
                           int repetitions);

}  // namespace plumbline
