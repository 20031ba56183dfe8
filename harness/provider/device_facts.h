// Facts about a device. Each GPU model is a machine class of its own, whatever the CPU.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// Fields are empty or 0 if unknown, and on the host.
struct DeviceFacts {
  std::string model;              // "NVIDIA H100 80GB HBM3"
  std::int64_t memory_bytes = 0;  // total memory of the device
  std::string driver;             // "580.65.06"
  std::string runtime;            // version of the CUDA runtime that launches, "13.0"
  std::string arch;               // "sm_90"; set even if the kernel refused or failed
  bool operator==(const DeviceFacts&) const = default;
};

}  // namespace plumbline
