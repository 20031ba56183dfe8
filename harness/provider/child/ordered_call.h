// Calls a kernel so that work outside of the stream that it was given shows.
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
  ~DeviceStream();  // waits for it
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  void* handle() const { return stream_; }

 private:
  DeviceMemory memory_;
  void* stream_;
};

// Device memory that holds what it should only from a point of the stream on.
struct Arrival {
  void* to;
  std::size_t bytes;
  const void* from;  // device memory; nullptr: `byte` fills it
  int byte;
  std::string written;  // what it is called where the call writes to it; "" for inputs
};

// Enqueues the arrivals on `stream` behind a closed gate, makes the call, which enqueues behind
// them, opens the gate once everything on other streams is done, and waits for the stream. Until
// the gate opens all arrivals hold bytes 0xFF. A kernel that was launched on another stream has
// then read poison, and what it wrote is overwritten. The gate may open by itself before the call
// returns (loading a kernel for the first time waits for all streams): `if_early` says whether all
// is then done once more. Returns "" or what was seen to be written before the stream began.
enum class IfEarly { call_again, leave_it };
std::string call_in_order(const DeviceMemory& memory, void* stream,
                          const std::vector<Arrival>& arrivals, const std::function<void()>& call,
                          IfEarly if_early);

}  // namespace plumbline
