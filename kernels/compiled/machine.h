// The machine that runs the compiled kernels. Their host code calls CUDA's runtime library, and the
// linked library decides where they run: machine_emulated.cc is for emulator/cudart,
// machine_cuda.cc for NVIDIA's library and a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/compiled/launch_record.h"

struct cudaFuncAttributes;

namespace plumbline::compiled {

// Options that all these providers have. Each provider extends this struct with its own. All
// options of this struct are for the emulator, and a GPU refuses them.
struct MachineOptions {
  enum class Schedule : std::uint32_t { in_order, reversed, random, alternating };
  // schedule=…: the emulator's order of the threads in a block. alternating: as each run requests
  // (plumbline_tensors.threads_reversed).
  Schedule schedule = Schedule::alternating;
  std::uint64_t seed = 0;    // seed=N: the seed of schedule=random
  bool independent = false;  // lanes=independent: sync only where CUDA guarantees it
  // skip=LINE: skips the barriers and waits of a line of PTX, to show that they are needed. Also
  // collects all lines that have barriers or waits (plumbline_cudart_take_sites).
  std::uint32_t skipped_line = 0;
  std::string text;  // as given
};

// Returns a table of the options above, followed by a provider's own.
template <class Options, class... Own>
constexpr std::array<provider::Option<Options>, 4 + sizeof...(Own)> options_with(
    const Own&... own) {
  using Schedule = MachineOptions::Schedule;
  return {{{"schedule", "in_order, reversed, random or alternating",
            [](Options& options, std::string_view text) {
              return provider::set_choice(options.schedule, text,
                                          {{"in_order", Schedule::in_order},
                                           {"reversed", Schedule::reversed},
                                           {"random", Schedule::random},
                                           {"alternating", Schedule::alternating}});
            }},
           {"seed", "a whole number",
            [](Options& options, std::string_view text) {
              return provider::set_number(options.seed, text, std::uint64_t{0}, ~std::uint64_t{0});
            }},
           {"lanes", "lockstep or independent",
            [](Options& options, std::string_view text) {
              return provider::set_choice(options.independent, text,
                                          {{"lockstep", false}, {"independent", true}});
            }},
           {"skip", "the number of a PTX line",
            [](Options& options, std::string_view text) {
              return provider::set_number(options.skipped_line, text, 1U, ~0U);
            }},
           own...}};
}

// Returns "" if the kernels run on this device. Throws Refused with PLUMBLINE_NO_DEVICE if the
// device is of their kind, but missing.
std::string refuse_device(const plumbline_device&);
// The architecture of the tensor cores: 80 for sm_80.
int arch_number(const plumbline_device&);
// "sm_90"
std::string arch_name(const plumbline_device&);
const plumbline_device_memory* device_memory();
// plumbline_feature bits
std::uint64_t features();

// Fills in build_id (followed by the options), device_arch, and the resources of the launched
// kernel: shared memory, and on a GPU registers and local memory, which PTX does not define.
void describe_launch(plumbline_description&, const char* build_id, const MachineOptions&,
                     const plumbline_device&, const Launched&);

// Returns the `count` values of an index array.
std::vector<std::int32_t> values(const plumbline_tensor&, std::int64_t count);
// Returns true if all lengths of the batch equal `length`.
bool all_equal_to(const plumbline_tensor& lengths, std::int64_t batch, std::int64_t length);

// Returns {address, strides of the outermost dimension, of tokens, of heads} of Q, K, V or the
// output, whose dimensions are [sample or page,] token, head, element.
template <class Rows>
Rows rows(const plumbline_tensor& tensor) {
  const int token = static_cast<int>(tensor.rank) - 3;
  return {tensor.data, token == 1 ? tensor.stride[0] : 0, tensor.stride[token],
          tensor.stride[token + 1]};
}

// For one run: makes the device current, lets kernels access only the problem's tensors, and
// records the launch. Throws on errors.
class Run {
 public:
  Run(const plumbline_device&, const MachineOptions&, const plumbline_tensors&, Launched&);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  LaunchRecord record_;
  std::vector<const void*> allowed_;
};
// Makes the device current for a plan, because planners query it.
void make_current(const plumbline_device&, const MachineOptions&);

// Memory that kernels may access in every run, until disallow().
void allow(const void* memory, std::uint64_t bytes);
void disallow(const void* memory);

// An array of a plan on the device. It is in plumbline's guarded memory, or, if an older plumbline
// provides none, in the runtime's.
class DeviceArray {
 public:
  // Allocates `count` uninitialised values.
  DeviceArray(const plumbline_tensors&, std::size_t count);
  // Copies the values.
  DeviceArray(const plumbline_tensors&, const std::vector<std::int32_t>&);
  // Uses the index array that plumbline has copied to the device, for example
  // &plumbline_tensors::device_cu_seqlens_q. If there is none, copies the same `values`.
  DeviceArray(const plumbline_tensors&, plumbline_tensor plumbline_tensors::*copied,
              const std::vector<std::int32_t>& values);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  [[nodiscard]] std::int32_t* data() const { return data_; }

 private:
  enum class Owner { problem, plan, run_time };

  void allocate(const plumbline_tensors&, std::size_t count);
  void copy(const plumbline_tensors&, const std::vector<std::int32_t>&);

  Owner owner_ = Owner::run_time;
  std::int32_t* data_ = nullptr;
};

// Describes registers and local memory per thread, if the machine knows them.
void describe_threads(plumbline_description&, const cudaFuncAttributes&);

// Throws PLUMBLINE_ERROR with the runtime's error text if a launch failed.
void throw_if_failed(const std::string& kernel);

// Returns how the tensor cores of `arch` accumulate 16-bit or tf32 products in fp32
// (docs/judging-formulas.md).
plumbline_accumulator tensor_core_accumulator(std::uint32_t dtype, int arch);

}  // namespace plumbline::compiled
