// A planted bug between a kernel and the machine: a call of simt.h made wrongly. It gives what an
// unchanged kernel would compute if it called that wrapper of kernels/attention/simt.h wrongly. For
// mutants (kernels/mutants/tensor_core); a launch without one pays a test of a pointer.
//
// Each function is called by the thread whose call it changes, with that thread's notes: words that
// are 0 when a block starts. Where an instruction belongs to a warp, all lanes must be changed
// alike. Results are the machine's own unless a fault says otherwise.
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

  // __syncthreads, __syncwarp: true leaves the call out.
  virtual bool leaves_out(Notes&, Call) const { return false; }

  // cp.async.wait_group: how many groups may be pending; -1 leaves the wait out.
  virtual int wait(Notes&, int groups) const { return groups; }
  virtual void commit(Notes&) const {}
  // cp.async of 16 bytes. `global` is what the kernel names, valid or not.
  enum class Copy {
    as_asked,
    valid,         // as if the kernel had said so
    first_half,    // a source size of 8: zeros for the others
    never_issued,  // shared memory keeps what it has
  };
  virtual Copy copy(Notes&, bool /*valid*/) const { return Copy::as_asked; }
  // When 16 bytes have landed in shared memory.
  virtual void landed(std::byte* /*shared*/) const {}

  // ldmatrix: the row that the lane names, as bytes from the first of shared memory; its call; then
  // the registers it has got.
  virtual Call load(Notes&, Call call, std::size_t& /*row*/) const { return call; }
  virtual void loaded(Notes&, Call, std::uint32_t* /*r: 4*/) const {}

  // A shuffle's mask or distance.
  virtual Call shuffle(Notes&, Call call, int& /*operand*/) const { return call; }

  // mma.sync: a lane's operands and C before it, then its D. false: the instruction is left out, D
  // = C.
  virtual bool multiply(Notes&, Call& /*call*/, std::uint32_t* /*a: 4*/, std::uint32_t* /*b: 2*/,
                        std::uint32_t* /*c: 4, fp16: 2*/) const {
    return true;
  }
  virtual void product(Notes&, Call, std::uint32_t* /*d*/) const {}
  // The arithmetic of a warp's product, registers as mma_sync has them. false: the machine's own.
  virtual bool computes(Notes&, Arch, const MmaInstruction&, std::uint32_t* /*a*/,
                        std::uint32_t* /*b*/, const std::uint32_t* /*c*/,
                        std::uint32_t* /*d*/) const {
    return false;
  }
};

}  // namespace plumbline::emulator
