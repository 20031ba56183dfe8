// The messages between plumbline and a worker (docs/worker-protocol.md). Numbers of dtypes, layouts
// and masks are those of plumbline_provider.h. Each struct is a message or a part of one;
// protocol.h has the JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/provider/device_facts.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline::protocol {

inline constexpr int protocol_version = 1;
// File descriptors that a worker inherits
inline constexpr int request_descriptor = 3;
inline constexpr int reply_descriptor = 4;
inline constexpr int arena_descriptor = 5;

struct HelloRequest {
  std::string request = "hello";
  std::uint64_t id = 0;  // repeated in the reply
  int protocol = protocol_version;
  std::uint32_t abi = PLUMBLINE_ABI_VERSION;
  std::string provider;  // path of the shared library or Python file
  std::string options;   // for plumbline_get_provider
  std::uint64_t memory_limit_bytes = 0;
  double timeout_s = 0;  // a worker whose parent died exits some seconds after this time
};

struct HelloReply {
  std::string reply = "hello";
  std::uint64_t id = 0;
  std::string error;  // not empty: the provider cannot be used
  std::string remedy;
  // `error` is about the options; may be absent: false
  bool options_refused = false;
  int protocol = protocol_version;
  std::uint32_t abi = 0;
  std::string provider;
  std::string version;
  std::vector<std::string> kernels;  // without the provider's name
  // "on", "off" or "none" for each kernel; may be absent: "none" for all
  std::vector<std::string> tensor_cores;
  // "attention" or "merge" for each kernel; may be absent: "attention" for all
  std::vector<std::string> questions;
  // Row outputs beyond the LSE, for each kernel; may be absent: none
  std::vector<std::vector<std::string>> outputs;
  // Device kinds that each kernel accepts: "cpu", "cuda", "emulated". Empty for a kernel, or
  // absent: unknown
  std::vector<std::vector<std::string>> kernel_devices;
  // in addition to "cpu": emulated GPUs, and GPUs whose memory the provider can allocate
  // ("cuda:0"); may be absent: none
  std::vector<std::string> devices;
  // may be absent: why a provider with device memory functions has no device
  std::string no_device;
};

struct Device {
  std::string name;                // "cuda:0"
  std::uint32_t memory_space = 0;  // plumbline_memory_space
  std::int32_t ordinal = 0;
  std::string arch;  // "" if plumbline does not know it
};

struct Tensor {
  std::string name;
  std::uint32_t dtype = 0;
  std::vector<std::int64_t> extent, stride;  // one entry per dimension, in elements
  std::uint64_t offset = 0, bytes = 0;       // position of the data in the arena
  std::uint64_t page_begin = 0, page_end = 0;
  std::string access;  // "read" or "write"
};

struct RunRequest {
  std::string request = "run";
  std::uint64_t id = 0;
  std::string kernel;  // without the provider's name
  Device device;
  plumbline_problem problem{};
  std::uint64_t arena_bytes = 0;
  std::vector<Tensor> tensors;
  int timed_repetitions = 0;
  double timeout_s = 0;
  int workspace_byte = 0xFF;      // may be absent
  double quiet_ns = 0;            // may be absent: repetitions wait while a sentinel call takes
                                  // longer than this
  bool keep_plan = false;         // may be absent: AgainRequests for this plan follow
  bool threads_reversed = false;  // may be absent: see plumbline_tensors
};

// Requests another call of the kept plan, with outputs poisoned again.
struct AgainRequest {
  std::string request = "again";
  std::uint64_t id = 0;
  bool only_end = false;      // destroy the plan without a call
  int timed_repetitions = 0;  // if not 0, these replace the single call
  double timeout_s = 0;
  double quiet_ns = 0;
  bool keep_plan = false;
  bool threads_reversed = false;
};

struct RunReply {
  std::string reply = "run";
  std::uint64_t id = 0;
  std::string status = "error";
  std::string reason;
  // null unless status is ok; also null in the reply to an AgainRequest
  std::optional<plumbline_description> description;
  std::string description_error;  // not sent: why the received description is invalid
  std::uint64_t workspace_bytes = 0;
  std::string workspace_fault;
  std::vector<double> kernel_ns, sentinel_ns;
  // may be absent: on a GPU, times with the L2 as the previous call left it; kernel_ns is then cold
  std::vector<double> hot_ns;
  // may be absent: processor time of the whole process; empty on a GPU
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  // may be absent: clock and throttle reasons after each repetition of kernel_ns and hot_ns on a
  // GPU
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double plan_ns = 0;                   // may be absent: time of `prepare`; 0 = not measured
  double mhz = 0;                       // may be absent: clock during timing; 0 = unknown
  std::string throttled;                // may be absent: why a GPU's clocks were reduced
  DeviceFacts device;                   // may be absent: the GPU of the call
  bool lse_returned = true;             // may be absent
  std::int64_t peak_memory_bytes = -1;  // may be absent: -1 = unknown
  bool plan_kept = false;               // may be absent: an AgainRequest can be served
};

// Sent by a dying worker's signal handler.
struct CrashReply {
  std::string reply = "crash";
  std::uint64_t id = 0;
  std::string signal;  // "SIGSEGV"
  std::string phase;   // "run"
  std::string where;   // "write 4096 bytes before out"; "" if the signal has no address
};

struct QuitRequest {
  std::string request = "quit";
};

}  // namespace plumbline::protocol
