// Clocks and throttle reasons of an NVIDIA GPU, from NVML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plumbline {

// NVML (libnvidia-ml.so.1) comes with the driver and is loaded at run time. If NVML is missing, or
// names another GPU, samples are empty.
class GpuClocks {
 public:
  struct Sample {
    double mhz = 0;             // SM clock; 0 = unknown
    std::uint64_t reasons = 0;  // bits of nvmlClocksThrottleReason…; 0 = none or unknown
  };

  // The GPU with the CUDA ordinal `ordinal` and the name `model` ("NVIDIA H100 80GB HBM3"). Indices
  // in CUDA_VISIBLE_DEVICES are taken in PCI bus order. If NVML has another name for that GPU,
  // samples are empty: with mixed models set CUDA_DEVICE_ORDER=PCI_BUS_ID.
  GpuClocks(std::int32_t ordinal, const std::string& model);
  ~GpuClocks();
  GpuClocks(const GpuClocks&) = delete;
  GpuClocks& operator=(const GpuClocks&) = delete;

  // Returns the current values; takes some microseconds of host time.
  Sample now() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;  // null: no samples
};

// Returns the reasons that slow a GPU down, in words: "power cap, thermal slowdown"; "" for none.
// Idling and clocks that a user has set do not count.
std::string throttle_words(std::uint64_t reasons);

}  // namespace plumbline
