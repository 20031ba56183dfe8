// A gate in a stream: what is enqueued behind it waits until the host opens it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "harness/provider/child/device_memory.h"

namespace plumbline {

// One at a time is closed in a process, on any stream. A kernel that waits for its stream while the
// gate is closed would wait for ever: the gate opens by itself after `longest`. So it does where
// the host waits for another stream whose calls CUDA makes one after another.
class Gate {
 public:
  static constexpr std::chrono::milliseconds longest{100};

  // Enqueues the gate, closed. It is open again when this object is gone.
  Gate(const DeviceMemory& memory, void* stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();
  // Whether it has opened by itself.
  bool has_expired() const;

 private:
  // Outlives every object: a stream that failed may call it late, or never.
  struct State {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = true, expired = false;
  };
  static State& state();
  static void wait(void* gate);
};

}  // namespace plumbline
