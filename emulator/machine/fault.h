// A planted bug between an unchanged kernel and the emulated machine: it changes the kernel's calls
// of kernels/attention/simt.h. The outputs are as if the kernel made these incorrect calls. Mutants
// use it (kernels/mutants/tensor_core). A launch without a fault pays only a null test.
//
// Each function runs in the thread whose call it may change. The fault keeps its state in that
// thread's notes, which are 0 when a block starts. It must change or skip a warp-wide instruction
// alike in all lanes. By default a fault changes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulator/machine/thread.h"
#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {

using Notes = std::array<std::uint32_t, 16>;

class Fault {
 public:
  virtual ~Fault() = default;

  // Called at barriers (__syncthreads, __syncwarp, named). Returns true to skip the barrier.
  virtual bool leaves_out(Notes&, Call) const { return false; }

  // cp.async.wait_group: returns how many groups may be pending; -1 skips the wait.
  virtual int wait(Notes&, int groups) const { return groups; }
  virtual void commit(Notes&) const {}
  // The effect of a 16-byte cp.async. copy() gets the `valid` that the kernel passes.
  enum class Copy {
    unmodified,
    valid,         // as if the kernel had passed valid = true
    first_half,    // a source size of 8; the other bytes become zeros
    never_issued,  // shared memory is not changed
  };
  virtual Copy copy(Notes&, bool /*valid*/) const { return Copy::unmodified; }
  // Called after 16 bytes have landed in shared memory.
  virtual void landed(std::byte* /*shared*/) const {}

  // load() may change an ldmatrix call and the row that the lane names, in bytes from the start of
  // shared memory. loaded() may change the registers that the lane receives.
  virtual Call load(Notes&, Call call, std::size_t& /*row*/) const { return call; }
  virtual void loaded(Notes&, Call, std::uint32_t* /*r: 4*/) const {}

  // May change a shuffle's call and its operand: source lane, distance or xor mask.
  virtual Call shuffle(Notes&, Call call, int& /*operand*/) const { return call; }

  // multiply() may change an mma.sync call and a lane's A, B and C. It returns false to skip the
  // instruction, so that D = C. product() may change the lane's D afterwards.
  virtual bool multiply(Notes&, Call& /*call*/, std::uint32_t* /*a: 4*/, std::uint32_t* /*b: 2*/,
                        std::uint32_t* /*c: 4, fp16: 2*/) const {
    return true;
  }
  virtual void product(Notes&, Call, std::uint32_t* /*d*/) const {}
  // May compute a warp's product itself, with the registers of mma_sync(), and return true. If it
  // returns false, the machine computes the product.
  virtual bool computes(Notes&, Arch, const MmaInstruction&, std::uint32_t* /*a*/,
                        std::uint32_t* /*b*/, const std::uint32_t* /*c*/,
                        std::uint32_t* /*d*/) const {
    return false;
  }
};

}  // namespace plumbline::emulator
