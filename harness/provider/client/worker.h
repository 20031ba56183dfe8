// Runs each kernel in a process of its own, so that a crash costs one case and not the run.
// Whatever the kernel does becomes that case's status.
//
// plumbline starts `plumbline-worker` (for Python files an interpreter) with posix_spawn; requests
// and replies are JSON lines on file descriptors 3 and 4, tensors lie in the shared arena
// (descriptor 5). stdout and stderr of the worker go to a log that is quoted when it dies.
// docs/worker-protocol.md.
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
  // The kinds of device that each kernel takes, among "cpu", "cuda" and "emulated"; empty for a
  // kernel: its provider does not say.
  std::vector<std::vector<std::string>> kernel_devices;
  std::vector<std::string> devices;    // beside "cpu" those it can allocate memory on, "cuda:0"
  std::vector<std::string> questions;  // "attention" or "merge", one for each kernel
  // The row outputs beyond the LSE that each kernel returns; empty for a kernel: none.
  std::vector<std::vector<std::string>> outputs;
  std::string no_device;  // why `devices` has none, where it is a provider for one; "" else
};

struct WorkerOptions {
  // empty: the worker that fits the provider (launch.h); else any program that speaks the protocol
  std::filesystem::path executable;
  std::string provider;  // "path/to/lib.so" or "path/to/kernels.py", and ":options" behind it
  // beyond what it has at start (RLIMIT_DATA); 0 = no limit
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;
  // Of one run request. Loading a library may take 60 s at least, a Python file 300 s.
  std::chrono::milliseconds timeout{60'000};
  // Variables of the environment that workers get although they look like secrets (environment.h).
  std::vector<std::string> pass_env = {};
};

// How long a case took, one entry per repetition; the sentinel is a fixed piece of work timed in
// turn with the kernel, so that their ratio survives a change of clock.
struct Timing {
  std::vector<double> kernel_ns;
  std::vector<double> sentinel_ns;
  // on a GPU, with what the call before left in its L2; kernel_ns is then with a flushed L2. Else
  // empty
  std::vector<double> hot_ns;
  // processor time of the whole worker process; empty on a GPU, or where the worker does not say
  std::vector<double> kernel_cpu_ns, sentinel_cpu_ns;
  // on a GPU whose driver tells: when repetition i of kernel_ns and of hot_ns ended, the clock in
  // MHz and the bits of nvmlClocksThrottleReason…
  std::vector<double> kernel_mhz, hot_mhz, kernel_throttle, hot_throttle;
  double plan_ns = 0;     // of `prepare`, which no call contains; 0 = not said
  double mhz = 0;         // clock of the processor or the GPU at the end; 0 = not said
  std::string throttled;  // why a GPU ran slower than it could; "" = it did not, or is no GPU
};

struct RunRequest {
  std::string kernel;  // full name
  std::string device = "cpu";
  const Geometry* geometry = nullptr;
  // Arena slots by tensor; -1 = absent. q, k, v, out, lse and the index arrays.
  int q = -1, k = -1, v = -1, out = -1, cu_seqlens_q = -1, cu_seqlens_kv = -1, seqlens_q = -1,
      seqlens_kv = -1, page_table = -1;
#define PLUMBLINE_ROW(name, ...) int name = -1;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  int mask = -1, alibi_slopes = -1, sinks = -1, q_scale = -1, k_scale = -1, v_scale = -1;
  // 0: run once, untimed. Else: Google Benchmark measures this many repetitions
  int timed_repetitions = 0;
  // ns that a call of the sentinel takes at most where nobody disturbs it: repetitions on the CPU
  // wait for that, for a limited time (child/timing.h). 0: not known.
  double quiet_ns = 0;
  std::chrono::milliseconds timeout{0};  // of this request; 0: WorkerOptions::timeout
  // what fills the workspace before the call: NaN in every float format unless another byte is
  // named
  int workspace_byte = 0xFF;
  // of an emulated device: its threads run from the last to the first (plumbline_tensors)
  bool threads_reversed = false;
  // run_again() follows
  bool keep_plan = false;

  // The slot of a row output.
  int& slot_of(RowOutput output) { return this->*row_slots[output]; }
  int slot_of(RowOutput output) const { return this->*row_slots[output]; }
  // The slots of all outputs that there are, `out` first.
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
  // "" or where the kernel wrote outside its workspace; on a GPU also: outside a tensor, or to an
  // input
  std::string workspace_fault;
  Timing timing;
  DeviceFacts device;  // of the GPU that it ran on, where the worker tells
  // false: the kernel declares that it gives none, and lse was left as it was
  bool lse_returned = true;
  std::int64_t peak_memory_bytes = -1;  // of one more call, only where timed; -1 = unknown
  bool same_plan = false;               // it is that of the call before: by run_again() alone
};

// One worker process and its arena. Not thread safe: one thread drives one Worker. A dead worker is
// restarted by the next call.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(WorkerOptions options);
  virtual ~Worker() = default;

  // Starts the process if needed. Errors: library not found, symbol missing, wrong ABI version
  // (names both), crash while loading.
  virtual Result<Hello> hello() = 0;
  // True if hello() failed because the provider takes no such options.
  virtual bool refused_options() const = 0;
  virtual Arena& arena() = 0;
  // Whatever happens is a Status, but for what plumbline itself lacks (HarnessFailure). After
  // crashed, timeout or out_of_memory, and after an error on a GPU (which may be sticky), the
  // process is gone and will be restarted. Only the slots that the request names are visible to
  // the kernel.
  virtual RunReply run(const RunRequest& request) = 0;
  // Which input is no longer as it was before the last run ("v"); "" where all are. A run in which
  // that happens is an error; what a call left running may do it after the reply. The arena then
  // has to be placed and filled anew.
  virtual std::string changed_input() const = 0;
  // The number of the process that serves, from 1 on; 0 where none lives. Each has another one.
  virtual std::uint64_t process() const = 0;
  // How many were started so far: the number of the one that answered last, which may have ended.
  virtual std::uint64_t processes() const = 0;
  // Where the process ended with no request under way: its crash report, its exit status or its
  // signal, once. SIGKILL does not count: the system sends it to idle workers when memory runs out.
  // If nobody asks, the next run is answered with it.
  virtual std::string crash_between_requests() = 0;
  // Another call of the plan that the request before was to keep; `request` is that one, but for
  // its order of threads, times and keep_plan. Where times are asked, theirs are the only calls.
  // Of a worker that keeps no plans it is run(). Else the reply has no description.
  virtual RunReply run_again(const RunRequest& request) = 0;
  // What the worker wrote to stdout and stderr during the last request (the last 4 KiB of it).
  virtual std::string log_tail() = 0;
};

// Why a run that left an input changed ("v") is an error.
std::string reason_of_changed_input(const std::string& input);

// Places all tensors of a geometry in the arena (inputs read-only, out and lse writable), copies
// the index arrays, and returns a request that names them. Inputs are not filled and outputs not
// poisoned yet. An arena holds one case: what was placed before is forgotten, and earlier requests
// are void. The request refers to `geometry`, which must outlive it.
// `further`: the row outputs beyond the LSE that are placed.
Result<RunRequest> place_tensors(Arena& arena, const Geometry& geometry,
                                 const PerRowOutput<bool>& further = {});

// Which row outputs beyond the LSE a kernel returns, or any kernel where none is named.
PerRowOutput<bool> further_outputs(const Hello& hello, std::string_view kernel = {});

}  // namespace plumbline
