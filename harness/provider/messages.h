// The messages between plumbline and a worker. docs/worker-protocol.md describes them. Numbers of
// dtypes, layouts and masks are those of plumbline_provider.h. Each struct here is one message or a
// part of one; protocol.h has its JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/provider/device_facts.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline::protocol {

inline constexpr int protocol_version = 1;
// Descriptors that a worker inherits.
inline constexpr int request_descriptor = 3;
inline constexpr int reply_descriptor = 4;
inline constexpr int arena_descriptor = 5;

struct HelloRequest {
  std::string request = "hello";
  std::uint64_t id = 0;  // repeated in the reply
  int protocol = protocol_version;
  std::uint32_t abi = PLUMBLINE_ABI_VERSION;
  std::string provider;  // path of the shared library
  std::string options;   // for plumbline_get_provider
  std::uint64_t memory_limit_bytes = 0;
  double timeout_s = 0;  // a worker whose parent died ends itself some time after this
};

struct HelloReply {
  std::string reply = "hello";
  std::uint64_t id = 0;
  std::string error;  // not empty: the provider cannot be used
  std::string remedy;
  // `error` is what is wrong with the options; may be absent: it is something else
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
  // The row outputs beyond the LSE that each kernel returns; empty for a kernel, or absent: none.
  std::vector<std::vector<std::string>> outputs;
  // The kinds of device that each kernel takes, among "cpu", "cuda" and "emulated"; empty for a
  // kernel, or absent: not said.
  std::vector<std::vector<std::string>> kernel_devices;
  // beside "cpu" those it can allocate memory on, "cuda:0"; may be absent: none
  std::vector<std::string> devices;
  // may be absent: why there is none, where it has memory functions for a device
  std::string no_device;
};

struct Device {
  std::string name;                // "cuda:0"
  std::uint32_t memory_space = 0;  // plumbline_memory_space
  std::int32_t ordinal = 0;
  std::string arch;  // "" where plumbline does not know it
};

struct Tensor {
  std::string name;
  std::uint32_t dtype = 0;
  std::vector<std::int64_t> extent, stride;  // one entry a dimension, in elements
  std::uint64_t offset = 0, bytes = 0;       // of the data, in the arena
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
  double quiet_ns = 0;            // may be absent: of the sentinel; timed repetitions wait for it
  bool keep_plan = false;         // may be absent: further calls of the plan follow (AgainRequest)
  bool threads_reversed = false;  // may be absent: see plumbline_tensors
};

// Another call of the plan that the request before kept, with outputs poisoned anew.
struct AgainRequest {
  std::string request = "again";
  std::uint64_t id = 0;
  bool only_end = false;      // the plan is destroyed without a call
  int timed_repetitions = 0;  // not 0: in place of the one call
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
  // null unless status is ok, and where it answers an AgainRequest
  std::optional<plumbline_description> description;
  std::string description_error;  // not sent: why what arrived is no description
  std::uint64_t workspace_bytes = 0;
  std::string workspace_fault;
  std::vector<double> kernel_ns, sentinel_ns;
  // may be absent: on a GPU, with what the call before left in the L2; kernel_ns is then cold
  std::vector<double> hot_ns;
  // may be absent: processor time of the whole process; empty on a GPU
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  // may be absent: clocks and throttle reasons of the repetitions of kernel_ns and hot_ns on a GPU
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double plan_ns = 0;                   // may be absent: of prepare; 0 = not measured
  double mhz = 0;                       // may be absent: clock while it was timed; 0 = unknown
  std::string throttled;                // may be absent: why a GPU's clocks were held back
  DeviceFacts device;                   // may be absent: of a GPU that the call ran on
  bool lse_returned = true;             // may be absent
  std::int64_t peak_memory_bytes = -1;  // may be absent: not every worker can tell
  bool plan_kept = false;               // may be absent: an AgainRequest can be served
};

// The last words of a worker, written by its signal handler.
struct CrashReply {
  std::string reply = "crash";
  std::uint64_t id = 0;
  std::string signal;  // "SIGSEGV"
  std::string phase;   // "run"
  std::string where;   // "write 4096 bytes behind out"; "" if no address belongs to the signal
};

struct QuitRequest {
  std::string request = "quit";
};

}  // namespace plumbline::protocol
