// Launches a kernel of CUDA C++ that g++ compiled (kernels/attention/simt.h) on the CPU.
//
// Blocks run in parallel over oneTBB. Within a block one thread runs at a time, until it must wait;
// which goes on then is the schedule. A correct kernel gives the same bits under each; one that
// lacks a barrier or a wait does not, since a thread that runs ahead meets what others have not
// written yet: shared memory is filled with NaN bit patterns at first, and so is the destination of
// an asynchronous copy.
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
  // the first thread that can run: low warps run ahead of high ones as far as barriers let them
  in_order,
  reversed,  // the last one
  random,    // any one, from the launch's seed and the block's number
};

// What code may assume of the lanes of a warp. CUDA promises `independent` since Volta: lanes meet
// in collectives, __syncwarp and barriers alone. `lockstep` is what a GPU does in practice with
// code that has not diverged, and compiled kernels rely on it: in converge() (thread.h) a lane
// waits for those of its warp that can go on.
enum class Lanes { independent, lockstep };

// How a __syncthreads knows its partners. By `place`, threads that wait at two places of the source
// are a divergent barrier, which CUDA does not define. By `id` they meet, as the instruction
// bar.sync has it, whose number is all that compiled code has; threads that have ended count as
// arrived.
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
  // For tests: leaves out __syncthreads, __syncwarp, named barriers and cp_async_wait of this file
  // and line (and call, if not empty).
  std::optional<SyncSite> skipped;
  // For tests: collects the sites of these calls that were reached.
  std::set<SyncSite>* sites = nullptr;
  const Fault* fault = nullptr;  // for mutants
  // Of a thread; 0: 64 KiB (256 KiB under AddressSanitizer). Below it lies a guard page.
  std::size_t stack_bytes = 0;
  Lanes lanes = Lanes::independent;
  BarrierMatch barriers = BarrierMatch::place;
  // The processor takes denormal operands and results of the kernel's own floating-point
  // instructions for zeros of their sign. What the emulator computes for it is not changed.
  bool flushes_denormals = false;
  Switching switching = Switching::assembly;
};

// The most dynamic shared memory that a block may ask for on `arch`, in bytes (CUDA C++ Programming
// Guide, table of compute capabilities).
std::size_t max_shared_bytes(Arch arch);

struct KernelCall {
  void (*invoke)(const void* call);  // runs the kernel for the current thread
  const void* call;
};
std::string launch(const LaunchOptions& options, Dim3 grid, Dim3 block, std::size_t shared_bytes,
                   KernelCall kernel);

// Runs all blocks. Empty text: fine. Otherwise what went wrong in the first block (lowest index)
// where something did: the block, and for each thread that could not go on its call, file and line.
// The kernel's outputs are then unspecified.
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
