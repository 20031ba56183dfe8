// Where the kernels run: on a GPU, or in the emulator; the provider is the same for both. The GPU
// is machine_cuda.cc (provider "cuda"), the emulator machine_emulated.cc (provider "emulated").
// Texts returned say what went wrong; empty: nothing.
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

// What the compiler made of an instance; -1: not known here.
struct Attributes {
  int registers = -1;
  std::int64_t static_shared_bytes = 0, stack_bytes = -1;
};

// "cuda" or "emulated".
const char* provider_name();
const char* build_id();
// NULL: the host's memory is the device's.
const plumbline_device_memory* device_memory();

// Why the kernels run on no device of this kind; throws Refused with PLUMBLINE_NO_DEVICE where one
// of theirs is not there or cannot be used.
std::string refuse_device(const plumbline_device& device);
// Of a device that is not refused: "sm_90", its number 90, and the most dynamic shared memory of a
// block.
std::string arch_of(const plumbline_device& device);
int arch_number(const plumbline_device& device);
std::int64_t most_shared_bytes(const plumbline_device& device);

// int32 values in the device's memory, for the life of this object.
class Indices {
 public:
  virtual ~Indices() = default;
  virtual const std::int32_t* data() const = 0;
};
// Complete when it returns, whatever stream uses them. Throws provider::Refused.
std::unique_ptr<Indices> copy_indices(const plumbline_device& device,
                                      std::vector<std::int32_t> values);

Attributes attributes_of(const Instance& instance);
// Enqueues on `stream`. The provider "emulated" has finished when this returns.
std::string launch(const plumbline_device& device, const Options& options, const Instance& instance,
                   const Grid& grid, int shared_bytes, const Parameters& parameters, void* stream);

}  // namespace plumbline::attention
