// A modelled GPU for tests without one, with CUDA's rules and error codes. It has memory, streams
// and events like CUDA's runtime, in one process and on one thread. It guarantees no more than CUDA
// does:
//
//  - Device memory is separate: pointers that did not come from allocate() are refused, in copies
//    and in the parameters of kernels.
//  - The default stream runs work at once. Other streams do not start until a call waits for them
//    (synchronize, elapsed_ns, release). A kernel on the wrong stream therefore always runs before
//    the work that it should wait for, not only on slow machines.
//  - An error of a kernel is sticky: it shows at the next call, and every later call fails.
//
// Functions return one of `codes`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace plumbline::stand_in {

namespace codes {
inline constexpr std::int32_t success = 0, invalid_value = 1, out_of_memory = 2,
                              insufficient_driver = 35, devices_unavailable = 46,
                              invalid_device = 101, invalid_handle = 400, illegal_address = 700,
                              launch_failure = 719;
}

inline constexpr std::uint64_t memory_bytes = std::uint64_t{8} << 30;
inline constexpr std::uint64_t l2_bytes = std::uint64_t{1} << 20;

class Device {
 public:
  using Work = std::function<std::int32_t()>;

  std::int32_t allocate(std::uint64_t bytes, void** out);
  std::int32_t release(void* pointer);  // waits for all streams, as cudaFree does
  // Returns true if one allocation contains all of it.
  bool owns(const void* at, std::uint64_t bytes) const;
  std::uint64_t allocated_bytes() const { return allocated_bytes_; }

  std::int32_t create_stream(void** out);
  std::int32_t destroy_stream(void* stream);
  std::int32_t enqueue(void* stream, Work work);
  std::int32_t synchronize(void* stream);

  std::int32_t create_event(void** out);
  std::int32_t destroy_event(void* event);
  std::int32_t record_event(void* event, void* stream);
  std::int32_t elapsed_ns(void* begin, void* end, double* ns);

  // Returns launch_failure and stores its text, the emulator's error.
  std::int32_t fail_launch(std::string what);
  const std::string& launch_failure_text() const { return launch_failure_text_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Allocation {
    std::unique_ptr<std::byte, Free> memory;
    std::uint64_t bytes;
  };
  struct Stream {
    std::deque<Work> work;
  };
  struct Event {
    void* stream = nullptr;  // last recorded on this stream
    bool recorded = false;
    std::chrono::steady_clock::time_point at;
  };

  bool is_stream(void* stream) const { return stream == nullptr || streams_.contains(stream); }
  std::int32_t remember(std::int32_t code);
  void drain(Stream& stream);

  std::map<const std::byte*, Allocation> allocations_;
  std::uint64_t allocated_bytes_ = 0;
  std::map<void*, std::unique_ptr<Stream>> streams_;
  std::map<void*, std::unique_ptr<Event>> events_;
  std::int32_t sticky_ = codes::success;
  std::string launch_failure_text_;
};

}  // namespace plumbline::stand_in
