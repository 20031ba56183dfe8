// Calls a kernel so that work outside its stream is detected.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "harness/provider/child/device_memory.h"

namespace plumbline {

class DeviceStream {
 public:
  explicit DeviceStream(const DeviceMemory& memory)
      : memory_(memory), stream_(memory.create_stream()) {}
  ~DeviceStream();  // waits for the stream
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  void* handle() const { return stream_; }

 private:
  DeviceMemory memory_;
  void* stream_;
};

// Device memory that gets its contents only at a point of the stream.
struct Arrival {
  void* to;
  std::size_t bytes;
  const void* from;  // device memory; nullptr: filled with `byte`
  int byte;
  std::string written;  // name of an output, for a fault that reports a write; "" for inputs
};

// Fills the memory of all arrivals with bytes 0xFF, enqueues the arrivals on `stream` after a
// closed gate, and makes the call, which enqueues after them. Then waits for the default stream,
// opens the gate and waits for `stream`. A kernel launched on another stream has therefore read
// poison, and its output is overwritten. The gate may open by itself before the call returns,
// because loading a kernel for the first time waits for all streams. `if_early` says whether the
// call is then repeated. Returns a fault if an output was written before the gate opened, or "".
enum class IfEarly { call_again, leave_it };
std::string call_in_order(const DeviceMemory& memory, void* stream,
                          const std::vector<Arrival>& arrivals, const std::function<void()>& call,
                          IfEarly if_early);

}  // namespace plumbline
