// A planted bug between a kernel and the machine: an incorrect call of simt.h. The result is that
// of an unchanged kernel that calls the wrapper of kernels/attention/simt.h incorrectly. For
// mutants (kernels/mutants/tensor_core); a launch without a fault pays only a null test.
//
// Each function is called by the thread whose call it changes, with that thread's notes, which are
// 0 when a block starts. If an instruction belongs to a warp, the fault must change all lanes
// alike. By default a fault changes nothing.
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

  // Barriers (__syncthreads, __syncwarp, named): true skips the call.
  virtual bool leaves_out(Notes&, Call) const { return false; }

  // cp.async.wait_group: returns how many groups may be pending; -1 skips the wait.
  virtual int wait(Notes&, int groups) const { return groups; }
  virtual void commit(Notes&) const {}
  // cp.async of 16 bytes. `valid` is what the kernel passes.
  enum class Copy {
    as_asked,
    valid,         // as if the kernel had passed valid = true
    first_half,    // a source size of 8; the other bytes become zeros
    never_issued,  // shared memory is not changed
  };
  virtual Copy copy(Notes&, bool /*valid*/) const { return Copy::as_asked; }
  // Called after 16 bytes have landed in shared memory.
  virtual void landed(std::byte* /*shared*/) const {}

  // ldmatrix: may change the row that the lane names (bytes from the start of shared memory) and
  // the call; loaded() may change the registers that it gets.
  virtual Call load(Notes&, Call call, std::size_t& /*row*/) const { return call; }
  virtual void loaded(Notes&, Call, std::uint32_t* /*r: 4*/) const {}

  // May change a shuffle's mask or distance.
  virtual Call shuffle(Notes&, Call call, int& /*operand*/) const { return call; }

  // mma.sync: may change a lane's operands and C before the instruction; product() its D
  // afterwards. Returning false skips the instruction: D = C.
  virtual bool multiply(Notes&, Call& /*call*/, std::uint32_t* /*a: 4*/, std::uint32_t* /*b: 2*/,
                        std::uint32_t* /*c: 4, fp16: 2*/) const {
    return true;
  }
  virtual void product(Notes&, Call, std::uint32_t* /*d*/) const {}
  // Computes a warp's product itself, with the registers of mma_sync(), and returns true. false:
  // the machine computes it.
  virtual bool computes(Notes&, Arch, const MmaInstruction&, std::uint32_t* /*a*/,
                        std::uint32_t* /*b*/, const std::uint32_t* /*c*/,
                        std::uint32_t* /*d*/) const {
    return false;
  }
};

}  // namespace plumbline::emulator
