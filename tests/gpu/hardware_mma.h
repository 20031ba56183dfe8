// Runs mma.sync on a real GPU, for comparison with the emulator.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::testing {

struct Gpu {
  std::string missing;  // why there is no GPU; empty if there is one
  std::string name;     // "NVIDIA H200"
  std::string arch;     // "sm_90"
  std::string
      // version from the kernel module, if known, and the newest CUDA version it supports:
      // "580.82.07, CUDA 13.0"
      driver;
  std::string toolkit;  // used to build this program: "13.0"
};
Gpu find_gpu();

// Runs `count` instructions, consecutive in each array, with registers as for emulator::mma_sync.
// Returns "" or the CUDA error.
std::string mma_on_gpu(const emulator::MmaInstruction&, int count, const std::uint32_t* a,
                       const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d);

}  // namespace plumbline::testing
