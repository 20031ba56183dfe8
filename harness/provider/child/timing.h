// Times pieces of work in turn with Google Benchmark: a kernel, and a sentinel beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/provider/child/device_memory.h"
#include "harness/provider/child/gpu_clocks.h"

namespace plumbline {

// One repetition of each lasts about 2 ms (on a device 5 ms), or one call where that takes longer.
// Entry i of each was measured one after the other.
struct TimesInTurn {
  std::vector<double> kernel_ns, sentinel_ns;          // per call
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;  // only time_in_turn: of the whole process
  // Only time_on_device; the clocks when a repetition of kernel_ns and of hot_ns ended, as
  // GpuClocks has them, empty where it knows nothing.
  std::vector<double> hot_ns, kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
};

// `run` makes that many calls and waits for them; it may throw. By the host's clock and by the
// processor time of all threads of this process (CLOCK_PROCESS_CPUTIME_ID), beside run_sentinel().
// What other processes do leaves processor time alone, but for what they share. A kernel of long
// calls gets fewer repetitions: as many as fit 100 ms, but 4.
//
// Where `quiet_ns` is not 0, each repetition begins when a call of the sentinel takes no more than
// that: on a virtual machine, others may use the same core for some milliseconds or seconds, and
// the sentinel tells. All repetitions together wait for 0.5 s at most.
TimesInTurn time_in_turn(const std::function<void(std::int64_t calls)>& run, int repetitions,
                         double quiet_ns = 0);

// By the device's clock (memory.has_clock()), on `stream`, where `call` enqueues one call; it may
// throw. The launches of a measurement are enqueued before its first one begins, so that the host's
// speed does not count.
//   kernel_ns    cold: before each call twice the L2 is filled, which is not timed
//   hot_ns       one call after another
//   sentinel_ns  copies within the L2: a quarter of it to another quarter, eight times
TimesInTurn time_on_device(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes,
                           const GpuClocks& clocks, const std::function<void()>& call,
                           int repetitions);

}  // namespace plumbline
