// mma.sync on a real GPU, for comparing it with the emulator.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::testing {

struct Gpu {
  std::string missing;  // why there is none; empty: there is
  std::string name;     // "NVIDIA H200"
  std::string arch;     // "sm_90"
  std::string
      // of the kernel module where it says so, and the newest CUDA version it runs: "580.82.07,
      // CUDA 13.0"
      driver;
  std::string toolkit;  // that this program was built with: "13.0"
};
Gpu find_gpu();

// count instructions, one after the other in each array, registers as emulator::mma_sync takes
// them. Empty text: done; else the CUDA error.
std::string mma_on_gpu(const emulator::MmaInstruction&, int count, const std::uint32_t* a,
                       const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d);

}  // namespace plumbline::testing
