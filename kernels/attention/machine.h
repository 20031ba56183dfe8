// The machine that runs the kernels: a GPU (machine_cuda.cc, provider "cuda") or the emulator
// (machine_emulated.cc, provider "emulated"). refuse_device() and launch() return an error, or "".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/attention/instances.h"
#include "kernels/attention/options.h"

namespace plumbline::attention {

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

// The compiler's results for an instance; -1: not known here.
struct Attributes {
  int registers = -1;
  std::int64_t static_shared_bytes = 0, stack_bytes = -1;
};

// Returns "cuda" or "emulated".
const char* provider_name();
const char* build_id();
// Returns NULL if the device uses the host's memory.
const plumbline_device_memory* device_memory();

// Returns why the kernels cannot run on this kind of device. Throws Refused with
// PLUMBLINE_NO_DEVICE if a device of their kind is missing or unusable.
std::string refuse_device(const plumbline_device& device);
// Properties of a device that is not refused: "sm_90", its number 90, and the maximum of dynamic
// shared memory per block.
std::string arch_of(const plumbline_device& device);
int arch_number(const plumbline_device& device);
std::int64_t max_block_shared_bytes(const plumbline_device& device);

// int32 values in the device's memory, freed with this object.
class Indices {
 public:
  virtual ~Indices() = default;
  virtual const std::int32_t* data() const = 0;
};
// Returns after the copy has completed, so that every stream sees it. Throws provider::Refused.
std::unique_ptr<Indices> copy_indices(const plumbline_device& device,
                                      std::vector<std::int32_t> values);

Attributes attributes_of(const Instance& instance);
// Enqueues on `stream`. With "emulated", the kernel has finished when this returns.
std::string launch(const plumbline_device& device, const Options& options, const Instance& instance,
                   const Grid& grid, int shared_bytes, const Parameters& parameters, void* stream);

}  // namespace plumbline::attention
