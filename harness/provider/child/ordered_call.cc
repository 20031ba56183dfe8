// Delays the inputs on the stream and detects outputs written meanwhile.
#include "harness/provider/child/ordered_call.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/provider/child/call.h"
#include "harness/provider/child/gate.h"
#include "harness/provider/pages.h"

namespace plumbline {

namespace {

constexpr std::size_t checked_bytes = std::size_t{64} << 10;

void enqueue(const DeviceMemory& memory, void* stream, const std::vector<Arrival>& arrivals) {
  for (const Arrival& arrival : arrivals) {
    if (arrival.from != nullptr) {
      memory.enqueue_copy(arrival.to, arrival.from, arrival.bytes, stream);
    } else {
      memory.enqueue_fill(arrival.to, arrival.byte, arrival.bytes, stream);
    }
  }
}

bool is_poison(const DeviceMemory& memory, const Arrival& arrival, std::size_t at,
               std::size_t bytes) {
  std::vector<unsigned char> part(bytes);
  memory.copy_to_host(part.data(), static_cast<const std::byte*>(arrival.to) + at, bytes,
                      arrival.written);
  return std::ranges::all_of(part, [](unsigned char byte) { return byte == poison_byte; });
}

// Returns the name of an output that was already written, or "". Checks both ends, because a kernel
// begins with one and ends with the other.
std::string first_written(const DeviceMemory& memory, const std::vector<Arrival>& arrivals) {
  for (const Arrival& arrival : arrivals) {
    if (arrival.written.empty()) continue;
    const std::size_t bytes = std::min(arrival.bytes, checked_bytes);
    if (!is_poison(memory, arrival, 0, bytes) ||
        !is_poison(memory, arrival, arrival.bytes - bytes, bytes))
      return arrival.written;
  }
  return "";
}

}  // namespace

DeviceStream::~DeviceStream() {
  try {
    memory_.synchronize(stream_);
  } catch (const Stop&) {  // the function that enqueued the work has reported the error
  }
  memory_.destroy_stream(stream_);
}

std::string call_in_order(const DeviceMemory& memory, void* stream,
                          const std::vector<Arrival>& arrivals, const std::function<void()>& call,
                          IfEarly if_early) {
  for (const bool again : {if_early == IfEarly::call_again, false}) {
    for (const Arrival& arrival : arrivals)
      memory.enqueue_fill(arrival.to, poison_byte, arrival.bytes, stream);
    memory.synchronize(stream);
    Gate gate(memory, stream);
    enqueue(memory, stream, arrivals);
    call();
    const bool was_held = !gate.has_expired();
    memory.synchronize(nullptr);
    std::string written = first_written(memory, arrivals);
    if (gate.has_expired()) written.clear();  // the arrivals themselves may have written it
    gate.open();
    memory.synchronize(stream);
    if (!written.empty()) {
      return fmt::format(
          "{} was written before the stream given to run had begun: a kernel runs on another "
          "stream",
          written);
    }
    if (was_held || !again) break;
  }
  return "";
}

}  // namespace plumbline
