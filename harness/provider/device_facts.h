// What a device says of itself: a GPU is a machine class of its own, whatever CPU stands beside it.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// Empty, 0: not known, or the host itself.
struct DeviceFacts {
  std::string model;              // "NVIDIA H100 80GB HBM3"
  std::int64_t memory_bytes = 0;  // of the device, all of it
  std::string driver;             // "580.65.06"
  std::string runtime;            // of the CUDA runtime that launches, "13.0"
  std::string arch;               // "sm_90"; known also where the kernel refused or failed
  bool operator==(const DeviceFacts&) const = default;
};

}  // namespace plumbline
