// A gate in a stream: later work on the stream waits until the host opens the gate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "harness/provider/child/device_memory.h"

namespace plumbline {

// At most one gate of a process is closed at a time, on any stream. A gate opens by itself after
// `longest`. Otherwise a `run` that waits for its own stream would wait forever, and so could a
// host that waits for another stream, if CUDA runs that stream's host functions after the gate.
class Gate {
 public:
  static constexpr std::chrono::milliseconds longest{100};

  // Enqueues a closed gate. The destructor opens it.
  Gate(const DeviceMemory& memory, void* stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();
  // Returns true if the gate opened by itself.
  bool has_expired() const;

 private:
  // Outlives every object, because a failed stream may call wait() late or never.
  struct State {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = true, expired = false;
  };
  static State& state();
  static void wait(void* gate);
};

}  // namespace plumbline
