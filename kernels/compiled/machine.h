// What the providers of compiled kernels share: their host code calls CUDA's run-time library, and
// which library that is decides where the kernels run. machine_emulated.cc is for emulator/cudart,
// machine_cuda.cc for NVIDIA's and a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/compiled/launched.h"

struct cudaFuncAttributes;

namespace plumbline::compiled {

// Options of every such provider; its own follow in a struct that extends this one. All of them are
// the emulator's, and a GPU refuses them.
struct MachineOptions {
  enum class Schedule : std::uint32_t { in_order, reversed, random, alternating };
  // schedule=…: the order in which the threads of a block run on the emulator. alternating: as each
  // run is asked (plumbline_tensors.threads_reversed).
  Schedule schedule = Schedule::alternating;
  std::uint64_t seed = 0;    // seed=N: of schedule=random
  bool independent = false;  // lanes=independent: lanes meet only where CUDA promises it
  // skip=LINE: leaves out the barriers and waits of a line of PTX, to see that they are needed, and
  // collects where they are (plumbline_cudart_take_sites).
  std::uint32_t skipped_line = 0;
  std::string text;  // as given
};

// A table of the options above, and of a provider's own behind them.
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
           {"skip", "a line of PTX",
            [](Options& options, std::string_view text) {
              return provider::set_number(options.skipped_line, text, 1U, ~0U);
            }},
           own...}};
}

// "": the kernels run on this device. Throws Refused with PLUMBLINE_NO_DEVICE where it is one of
// theirs and is not there.
std::string refuse_device(const plumbline_device&);
// 80 for sm_80: whose tensor cores answer.
int arch_number(const plumbline_device&);
// "sm_90"
std::string arch_name(const plumbline_device&);
const plumbline_device_memory* device_memory();
// plumbline_feature bits
std::uint64_t features();

// Fills in build_id, with the options behind it, device_arch, and what the kernel takes that was
// launched: shared memory, and on a GPU registers and local memory. PTX has neither of those.
void describe_launch(plumbline_description&, const char* build_id, const MachineOptions&,
                     const plumbline_device&, const Launched&);

// The values of an index array, of which there are `count`.
std::vector<std::int32_t> values(const plumbline_tensor&, std::int64_t count);
// Whether all lengths of the batch are this one.
bool all_are(const plumbline_tensor& lengths, std::int64_t batch, std::int64_t length);

// {address, stride of what is outermost, of tokens, of heads} of Q, K, V or the output, whose
// dimensions are [sample or page,] token, head, element.
template <class Rows>
Rows rows(const plumbline_tensor& tensor) {
  const int token = static_cast<int>(tensor.rank) - 3;
  return {tensor.data, token == 1 ? tensor.stride[0] : 0, tensor.stride[token],
          tensor.stride[token + 1]};
}

// For one run: makes the device current, lets kernels touch the problem's tensors and nothing else,
// and notes what is launched. Throws what is wrong.
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
// The same for a plan: which device answers what a planner asks.
void make_current(const plumbline_device&, const MachineOptions&);

// Memory that kernels may touch in every run, until it is taken back.
void allow(const void* memory, std::uint64_t bytes);
void take_back(const void* memory);

// An array of a plan on the device. It lies in memory of plumbline's, which guards it, or, where an
// older plumbline has none to give, in the run-time's.
class DeviceArray {
 public:
  // Of so many values, which are not set.
  DeviceArray(const plumbline_tensors&, std::size_t count);
  // A copy of the values.
  DeviceArray(const plumbline_tensors&, const std::vector<std::int32_t>&);
  // The index array that plumbline copied, &plumbline_tensors::device_cu_seqlens_q for example, and
  // a copy of `values`, which are the same, where it did not.
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

// Registers and local memory of a thread, where the machine knows them.
void describe_threads(plumbline_description&, const cudaFuncAttributes&);

// Throws PLUMBLINE_ERROR with the run-time's words where a launch failed.
void throw_if_failed(const std::string& kernel);

// An element of D = A B + C as the tensor cores of `arch` accumulate 16-bit products in fp32
// (docs/judging-formulas.md).
plumbline_accumulator tensor_core_accumulator(std::uint32_t dtype, int arch);

}  // namespace plumbline::compiled
