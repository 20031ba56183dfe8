// Times calls on a stream, between two events of the device.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/provider/child/device_buffer.h"

namespace plumbline {

// The functions return nanoseconds of all calls together. A measurement begins after all its work
// is enqueued, unless that takes the host longer than Gate::longest. Throws Stop; the calls may
// also throw.
class DeviceClock {
 public:
  using Call = std::function<void()>;  // enqueues on the stream

  // `l2_bytes` 0: unknown; the largest known L2 is assumed.
  DeviceClock(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // Before each call, fills a buffer of twice the L2's size, untimed.
  double cold_ns(const Call& call, std::int64_t calls);
  // Calls back to back, after an untimed one.
  double hot_ns(const Call& call, std::int64_t calls);
  // A fixed workload of the device: eight copies of a buffer of a quarter of the L2's size.
  // Never change it, because stored times are ratios to it.
  double sentinel_ns(std::int64_t calls);

 private:
  // Returns the time of `timed`, which is enqueued after `before`.
  double between_events(const Call& before, const Call& timed);

  DeviceMemory memory_;
  void* stream_;
  std::uint64_t l2_bytes_;
  DeviceBuffer cache_sized_;  // twice the L2
  void *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace plumbline
