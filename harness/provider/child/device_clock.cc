// Times calls between two events: after an L2 flush, or back to back. Times copies as the sentinel.
#include "harness/provider/child/device_clock.h"

#include <algorithm>

#include "harness/provider/child/gate.h"

namespace plumbline {

namespace {

// Larger than the L2 of any GPU of 2026 (126 MB on B200).
constexpr std::uint64_t default_l2_bytes = std::uint64_t{128} << 20;
// Launches that wait at a gate. Must be below a stream's queue limit, at which a launch blocks
// (1024 on CUDA).
constexpr std::int64_t max_queued_calls = 16;
constexpr int sentinel_copies = 8;

}  // namespace

DeviceClock::DeviceClock(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes)
    : memory_(memory),
      stream_(stream),
      l2_bytes_(l2_bytes != 0 ? l2_bytes : default_l2_bytes),
      cache_sized_(memory, "a flush of the L2", 2 * l2_bytes_) {
  begin_ = memory_.create_event();
  try {
    end_ = memory_.create_event();
  } catch (...) {
    memory_.destroy_event(begin_);
    throw;
  }
}

DeviceClock::~DeviceClock() {
  memory_.destroy_event(begin_);
  memory_.destroy_event(end_);
}

double DeviceClock::between_events(const Call& before, const Call& timed) {
  {
    const Gate gate(memory_, stream_);
    before();
    memory_.record_event(begin_, stream_);
    timed();
    memory_.record_event(end_, stream_);
  }
  const double ns = memory_.elapsed_ns(begin_, end_);
  memory_.synchronize(stream_);
  return ns;
}

double DeviceClock::cold_ns(const Call& call, std::int64_t calls) {
  const auto flush = [&] {
    memory_.enqueue_fill(cache_sized_.data(), 0, cache_sized_.bytes(), stream_);
  };
  double ns = 0;
  for (std::int64_t i = 0; i < calls; ++i) ns += between_events(flush, call);
  return ns;
}

double DeviceClock::hot_ns(const Call& call, std::int64_t calls) {
  double ns = 0;
  for (std::int64_t left = calls; left > 0; left -= max_queued_calls) {
    const std::int64_t count = std::min(left, max_queued_calls);
    ns += between_events(call, [&] {
      for (std::int64_t i = 0; i < count; ++i) call();
    });
  }
  return ns;
}

double DeviceClock::sentinel_ns(std::int64_t calls) {
  const std::uint64_t bytes = l2_bytes_ / 4;
  auto* const from = static_cast<std::byte*>(cache_sized_.data());
  const auto copy = [&] {
    for (int i = 0; i < sentinel_copies; ++i)
      memory_.enqueue_copy(from + bytes, from, bytes, stream_);
  };
  return hot_ns(copy, calls);
}

}  // namespace plumbline
