// Runs kernels in worker processes, so that a crash costs one case and not the run. Whatever a
// kernel does becomes the status of its case.
//
// plumbline starts `plumbline-worker` (for Python files an interpreter) with posix_spawn. Requests
// and replies are JSON lines on file descriptors 3 and 4; tensors are in the shared arena
// (descriptor 5). The worker's stdout and stderr go to a log that is quoted if the worker
// dies. See docs/worker-protocol.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/outputs.h"
#include "harness/provider/client/arena.h"
#include "harness/provider/description.h"
#include "harness/provider/device_facts.h"
#include "harness/provider/status.h"

namespace plumbline {

struct Hello {
  std::string provider;  // "cpu"
  std::string version;
  std::vector<std::string> kernels;       // full names, "cpu/flash"
  std::vector<std::string> tensor_cores;  // "on", "off" or "none", one for each kernel
  // Device kinds that each kernel accepts: "cpu", "cuda", "emulated"; empty for a kernel: unknown.
  std::vector<std::vector<std::string>> kernel_devices;
  std::vector<std::string> devices;    // beside "cpu": emulated GPUs, and GPUs whose memory the
                                       // provider can allocate ("cuda:0")
  std::vector<std::string> questions;  // "attention" or "merge", one for each kernel
  // Row outputs beyond the LSE, for each kernel.
  std::vector<std::vector<std::string>> outputs;
  std::string no_device;  // why a provider for GPUs has no GPU in `devices`; otherwise ""
};

struct WorkerOptions {
  // empty: the worker for this provider (launch.h); otherwise any program that speaks the protocol
  std::filesystem::path executable;
  std::string provider;  // "path/to/lib.so" or "path/to/kernels.py", optionally with ":options"
  // beyond the worker's memory at start (RLIMIT_DATA); 0 = no limit
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;
  // For a run request. Loading has at least 60 s for a library and 300 s for a Python file.
  std::chrono::milliseconds timeout{60'000};
  // Environment variables that workers receive although they look secret (environment.h).
  std::vector<std::string> pass_env = {};
};

// Times of a case, one entry per repetition. The sentinel is fixed work timed in turn with the
// kernel, so that their ratio survives a change of clock rate.
struct Timing {
  std::vector<double> kernel_ns;
  std::vector<double> sentinel_ns;
  // on a GPU: with the L2 as the previous call left it; kernel_ns is then with a flushed L2
  std::vector<double> hot_ns;
  // processor time of the whole worker process; empty on a GPU or if unknown
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  // on a GPU with NVML: clock in MHz and bits of nvmlClocksThrottleReason… at the end of each
  // repetition of kernel_ns and hot_ns
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double plan_ns = 0;     // time of `prepare`, not part of any call; 0 = unknown
  double mhz = 0;         // clock of the processor at the end, or median of the GPU's; 0 = unknown
  std::string throttled;  // why a GPU's clocks were reduced; "" if they were not
};

struct RunRequest {
  std::string kernel;  // full name
  std::string device = "cpu";
  const Geometry* geometry = nullptr;
  // Arena slot of each tensor; -1 = absent.
  int q = -1, k = -1, v = -1, out = -1, cu_seqlens_q = -1, cu_seqlens_kv = -1, seqlens_q = -1,
      seqlens_kv = -1, page_table = -1;
#define PLUMBLINE_ROW(name, ...) int name = -1;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  int mask = -1, alibi_slopes = -1, sinks = -1, q_scale = -1, k_scale = -1, v_scale = -1,
      out_scale = -1;
  // 0: one untimed call; otherwise Google Benchmark measures up to this many repetitions
  int timed_repetitions = 0;
  // Longest undisturbed sentinel call, in ns. Repetitions on the CPU wait for such a call, for a
  // limited time (child/timing.h). 0: unknown.
  double quiet_ns = 0;
  std::chrono::milliseconds timeout{0};  // for this request; 0: WorkerOptions::timeout
  // initial bytes of the workspace; the default is NaN in every float format
  int workspace_byte = 0xFF;
  // on an emulated device: threads run from the last to the first (plumbline_tensors)
  bool threads_reversed = false;
  // run_again() follows
  bool keep_plan = false;

  // Returns the slot of a row output.
  int& slot_of(RowOutput output) { return this->*row_slots[output]; }
  int slot_of(RowOutput output) const { return this->*row_slots[output]; }
  // Returns the slots of all outputs of the request, `out` first.
  std::vector<std::size_t> output_slots() const;

 private:
  static const PerRowOutput<int RunRequest::*> row_slots;
};
#define PLUMBLINE_ROW(name, ...) &RunRequest::name,
inline constexpr PerRowOutput<int RunRequest::*> RunRequest::row_slots{
    {PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

struct RunReply {
  Status status = Status::error;
  std::string reason;  // always filled unless ok
  Description description;
  std::uint64_t workspace_bytes = 0;
  // "" or where the kernel wrote outside its workspace; on a GPU also outside a tensor or to an
  // input
  std::string workspace_fault;
  Timing timing;
  DeviceFacts device;  // the GPU of the call, if the worker reports it
  // false: the kernel declares that it returns no LSE, and lse is unchanged
  bool lse_returned = true;
  std::int64_t peak_memory_bytes = -1;  // peak of one more call, only if timed; -1 = unknown
  bool same_plan = false;               // only from run_again(): the plan of the previous call was
                                        // used
};

// One worker process and its arena. Not thread-safe. The next call restarts a dead worker.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(WorkerOptions options);
  virtual ~Worker() = default;

  // Starts the process if needed. Errors: library not found, symbol missing, wrong ABI version
  // (names both), crash while loading.
  virtual Result<Hello> hello() = 0;
  // Returns true if hello() failed because the provider rejects the options.
  virtual bool refused_options() const = 0;
  virtual Arena& arena() = 0;
  // Every result is a Status, except if plumbline itself lacks resources (HarnessFailure). After
  // crashed, timeout or out_of_memory, and after an error on a GPU (which may be sticky), the
  // process is gone and will be restarted. The kernel sees only the slots of the request.
  virtual RunReply run(const RunRequest& request) = 0;
  // Returns the name of an input ("v") that changed since the last run began, or "". A run that
  // changes an input is an error; code that a call left running may change one after the reply.
  // After a change, the arena must be placed and filled again.
  virtual std::string changed_input() const = 0;
  // Returns the number of the running process, from 1, never reused; 0 if none is alive.
  virtual std::uint64_t process() const = 0;
  // Returns the number of the last process, which may have ended; 0 if none was started.
  virtual std::uint64_t processes() const = 0;
  // Returns true if a thread of the process still works although no request runs.
  virtual bool has_running_threads() const = 0;
  // Returns, only once, how the process ended between two requests: its crash report, exit status
  // or signal. SIGKILL does not count: the system sends it to idle workers when memory runs out. If
  // this function is not called, the next run reports that end.
  virtual std::string crash_between_requests() = 0;
  // Calls again the plan that the previous request kept. `request` is that request with another
  // thread order, timing or keep_plan. If it is timed, only the timed calls are made. If the worker
  // keeps no plans, this is run(). Otherwise the reply has no description.
  virtual RunReply run_again(const RunRequest& request) = 0;
  // Returns the worker's output to stdout and stderr during the last request (at most 4 KiB).
  virtual std::string log_tail() = 0;
};

// Returns the reason for failing a run that changed an input ("v").
std::string reason_of_changed_input(const std::string& input);

// Places all tensors of a geometry in the arena (inputs read-only, outputs writable) and returns a
// request that names them. Fills index arrays and small inputs (mask, slopes, sinks, scales), but
// not Q, K, V and outputs. An arena holds one case: earlier slots are forgotten, and earlier
// requests are void. The request refers to `geometry`, which must outlive it. `further` selects the
// row outputs beyond the LSE.
Result<RunRequest> place_tensors(Arena& arena, const Geometry& geometry,
                                 const PerRowOutput<bool>& further = {});

// Returns the row outputs beyond the LSE of a kernel, or of any kernel if none is named.
PerRowOutput<bool> further_outputs(const Hello& hello, std::string_view kernel = {});

}  // namespace plumbline
