// The clocks of an NVIDIA GPU, and why it holds them back, by NVML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plumbline {

// NVML (libnvidia-ml.so.1) comes with the driver and is looked for when the program runs. Where it
// is absent, or its GPU is not the one that is meant, nothing is known.
class GpuClocks {
 public:
  struct Sample {
    double mhz = 0;             // of the multiprocessors; 0 = not known
    std::uint64_t reasons = 0;  // bits of nvmlClocksThrottleReason…; 0 = none, or not known
  };

  // The GPU that CUDA calls `ordinal`, whose name is `model` ("NVIDIA H100 80GB HBM3"): that of
  // CUDA_VISIBLE_DEVICES, counted as the bus counts. If NVML has another name for it, nothing is
  // known: set CUDA_DEVICE_ORDER=PCI_BUS_ID where GPUs of several models are mixed.
  GpuClocks(std::int32_t ordinal, const std::string& model);
  ~GpuClocks();
  GpuClocks(const GpuClocks&) = delete;
  GpuClocks& operator=(const GpuClocks&) = delete;

  // At this moment; some microseconds of host time.
  Sample now() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;  // null: nothing is known
};

// The reasons that make a GPU slower than it could be, in words: "power cap, thermal slowdown". ""
// for none. That it idles, and clocks that somebody has set, are no such reasons.
std::string throttle_words(std::uint64_t reasons);

}  // namespace plumbline
