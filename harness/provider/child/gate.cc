// Implements the gate as a host function in the stream that waits until the gate is opened or
// expires.
#include "harness/provider/child/gate.h"

namespace plumbline {

Gate::State& Gate::state() {
  static auto* const only = new State;  // never destroyed: see State
  return *only;
}

Gate::Gate(const DeviceMemory& memory, void* stream) {
  {
    const std::lock_guard lock(state().mutex);
    state().open = state().expired = false;
  }
  try {
    memory.enqueue_call(wait, &state(), stream);
  } catch (...) {
    open();
    throw;
  }
}

void Gate::wait(void* gate) {
  State& s = *static_cast<State*>(gate);
  std::unique_lock lock(s.mutex);
  if (!s.opened.wait_for(lock, longest, [&] { return s.open; })) s.expired = s.open = true;
}

void Gate::open() {
  {
    const std::lock_guard lock(state().mutex);
    state().open = true;
  }
  state().opened.notify_all();
}

bool Gate::has_expired() const {
  const std::lock_guard lock(state().mutex);
  return state().expired;
}

}  // namespace plumbline
