// Runs CUDA C++ kernels on the CPU. g++ compiles them with kernels/attention/simt.h.
//
// Blocks run in parallel over oneTBB. Within a block one thread runs at a time, until it must wait;
// the schedule chooses the next one. A correct kernel gives the same bits under every schedule. A
// kernel that lacks a barrier or a wait does not: a thread that runs ahead reads NaN bit patterns,
// which fill shared memory at first and the destination of an asynchronous copy until it lands.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>

#include "emulator/machine/fault.h"
#include "emulator/machine/thread.h"
#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {

enum class Schedule {
  // the first thread that can run: low warps run ahead of high ones as far as barriers allow
  in_order,
  reversed,  // the last thread that can run
  random,    // a random one, from the launch's seed and the block's number
};

// Assumptions that code may make about the lanes of a warp. CUDA has promised only `independent`
// since Volta: lanes meet only in collectives, __syncwarp and barriers. `lockstep` is what a GPU
// does in practice with code that has not diverged, and compiled kernels rely on it. In `lockstep`,
// converge() (thread.h) makes a lane wait until no other lane of its warp can run.
enum class Lanes { independent, lockstep };

// Selects which __syncthreads calls meet. `place`: calls at two source lines are a divergent
// barrier, which CUDA does not define. `id`: such calls meet, because bar.sync in compiled code has
// only a number; threads that have ended count as arrived.
enum class BarrierMatch { place, id };

// A barrier or a wait in a kernel's source.
struct SyncSite {
  std::string file;   // without folders: "prefill.cuh"
  unsigned line = 0;  // of the call
  std::string call;   // "__syncthreads"
  auto operator<=>(const SyncSite&) const = default;
};

struct LaunchOptions {
  Arch arch = Arch::sm_90;
  Schedule schedule = Schedule::in_order;
  std::uint64_t seed = 0;
  // For tests: skips the __syncthreads, __syncwarp, named barriers and cp_async_wait of this file
  // and line (and call, if not empty).
  std::optional<SyncSite> skipped;
  // For tests: receives the sites of such calls that were reached.
  std::set<SyncSite>* sites = nullptr;
  const Fault* fault = nullptr;  // for mutants
  // Stack of a thread, above a guard page; 0: 64 KiB (256 KiB under AddressSanitizer).
  std::size_t stack_bytes = 0;
  Lanes lanes = Lanes::independent;
  BarrierMatch barriers = BarrierMatch::place;
  // The processor treats denormal operands and results of the kernel's own floating-point
  // instructions as zeros of their sign. The emulator's own computations do not change.
  bool flushes_denormals = false;
  Switching switching = Switching::assembly;
};

// Returns the largest dynamic shared memory of a block on `arch`, in bytes (CUDA C++ Programming
// Guide, table of compute capabilities).
std::size_t max_shared_bytes(Arch arch);

struct KernelCall {
  void (*invoke)(const void* call);  // runs the kernel for the current thread
  const void* call;
};
std::string launch(const LaunchOptions& options, Dim3 grid, Dim3 block, std::size_t shared_bytes,
                   KernelCall kernel);

// Runs all blocks. Returns "" on success. Otherwise the text describes the failed block with the
// lowest index: for each thread that could not continue, its call, file and line. The kernel's
// outputs are then unspecified.
template <class Parameters>
std::string launch(const LaunchOptions& options, Dim3 grid, Dim3 block, std::size_t shared_bytes,
                   void (*kernel)(Parameters), const std::type_identity_t<Parameters>& parameters) {
  struct TypedCall {
    void (*kernel)(Parameters);
    const Parameters* parameters;
  } const call{kernel, &parameters};
  const auto invoke = [](const void* erased) {
    const TypedCall& typed = *static_cast<const TypedCall*>(erased);
    typed.kernel(*typed.parameters);
  };
  return launch(options, grid, block, shared_bytes, KernelCall{invoke, &call});
}

}  // namespace plumbline::emulator
