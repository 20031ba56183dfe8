#include "harness/provider/worker/ordered_call.h"

#include "harness/provider/worker/call.h"
#include "harness/provider/worker/gate.h"

namespace plumbline {

namespace {

constexpr int poison_byte = 0xFF;  // NaN in every float format

void enqueue(const DeviceMemory& memory, void* stream, const std::vector<Arrival>& arrivals) {
  for (const Arrival& arrival : arrivals) {
    if (arrival.from != nullptr) {
      memory.enqueue_copy(arrival.to, arrival.from, arrival.bytes, stream);
    } else {
      memory.enqueue_fill(arrival.to, arrival.byte, arrival.bytes, stream);
    }
  }
}

}  // namespace

DeviceStream::~DeviceStream() {
  try {
    memory_.synchronize(stream_);
  } catch (const Stop&) {  // whoever enqueued there has been told
  }
  memory_.destroy_stream(stream_);
}

void call_in_order(const DeviceMemory& memory, void* stream, const std::vector<Arrival>& arrivals, const std::function<void()>& call) {
  for (const bool again : {true, false}) {
    for (const Arrival& arrival : arrivals) memory.enqueue_fill(arrival.to, poison_byte, arrival.bytes, stream);
    memory.synchronize(stream);
    Gate gate(memory, stream);
    enqueue(memory, stream, arrivals);
    call();
    const bool was_held = !gate.has_expired();
    memory.synchronize(nullptr);
    gate.open();
    memory.synchronize(stream);
    if (was_held || !again) return;
  }
}

}  // namespace plumbline
