// Times on a stream, between two events of the device.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/provider/child/device_buffer.h"

namespace plumbline {

// Nanoseconds of all calls together. Nothing of a measurement begins before all of it is enqueued,
// except where that takes the host longer than Gate::longest. Throws Stop, as what is called may.
class DeviceClock {
 public:
  using Call = std::function<void()>;  // enqueues on the stream

  // `l2_bytes` 0: not known, and taken to be as large as any.
  DeviceClock(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // Before each call twice the L2 is filled, outside the time.
  double cold_ns(const Call& call, std::int64_t calls);
  // One call after another, and one before them that does not count.
  double hot_ns(const Call& call, std::int64_t calls);
  // A fixed piece of work of the device's: a quarter of the L2 is copied to another quarter, eight
  // times. Never change what it does: times of past runs are ratios to it.
  double sentinel_ns(std::int64_t calls);

 private:
  // Of `timed`, which enqueues, behind `before`.
  double between_events(const Call& before, const Call& timed);

  DeviceMemory memory_;
  void* stream_;
  std::uint64_t l2_bytes_;
  DeviceBuffer cache_sized_;  // twice the L2
  void *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace plumbline
