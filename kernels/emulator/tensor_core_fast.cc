#include "kernels/emulator/tensor_core.h"

namespace plumbline::emulator {

void mma_sync(Arch arch, const MmaInstruction& instruction, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
              std::uint32_t* d) {
  mma_sync_exact(arch, instruction, a, b, c, d);
}

}  // namespace plumbline::emulator
