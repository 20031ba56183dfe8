// What the providers of compiled kernels share: their host code calls CUDA's run-time library, and
// which library that is decides where the kernels run. machine_emulated.cc is for kernels/cudart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::compiled {

// Options of every such provider; its own follow in a struct that extends this one.
struct MachineOptions {
  enum class Schedule : std::uint32_t { in_order, reversed, random, alternating };
  // schedule=…: the order in which the threads of a block run on the emulator. alternating: the
  // runs of a process take turns between in_order and reversed.
  Schedule schedule = Schedule::alternating;
  std::uint64_t seed = 0;    // seed=N: of schedule=random
  bool independent = false;  // lanes=independent: lanes meet only where CUDA promises it
  // skip=LINE: leaves out the barriers and waits of a line of PTX, to see that they are needed, and
  // collects where they are (plumbline_cudart_take_sites).
  std::uint32_t skipped_line = 0;
  std::string text;  // as given
};

template <class Options>
bool set_schedule(Options& options, std::string_view text) {
  using Schedule = MachineOptions::Schedule;
  return provider::set_choice(options.schedule, text,
                              {{"in_order", Schedule::in_order},
                               {"reversed", Schedule::reversed},
                               {"random", Schedule::random},
                               {"alternating", Schedule::alternating}});
}
template <class Options>
bool set_seed(Options& options, std::string_view text) {
  return provider::set_number(options.seed, text, std::uint64_t{0}, ~std::uint64_t{0});
}
template <class Options>
bool set_lanes(Options& options, std::string_view text) {
  return provider::set_choice(options.independent, text,
                              {{"lockstep", false}, {"independent", true}});
}

template <class Options>
bool set_skipped_line(Options& options, std::string_view text) {
  return provider::set_number(options.skipped_line, text, 1U, ~0U);
}

// "": the kernels run on this device.
std::string refuse_device(const plumbline_device&);
// 80 for sm_80: whose tensor cores answer.
int arch_number(const plumbline_device&);
// "sm_90"
std::string arch_name(const plumbline_device&);
const plumbline_device_memory* device_memory();

// For one run: makes the device current, and lets kernels touch the problem's tensors and nothing
// else. Throws what is wrong.
class Run {
 public:
  Run(const plumbline_device&, const MachineOptions&, const plumbline_tensors&);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  std::vector<const void*> allowed_;
};
// The same for a plan: which device answers what a planner asks.
void make_current(const plumbline_device&, const MachineOptions&);

// A copy of index arrays on the device.
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<std::int32_t>&);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  [[nodiscard]] std::int32_t* data() const { return data_; }

 private:
  std::int32_t* data_ = nullptr;
};

// Throws PLUMBLINE_ERROR with the run-time's words where a launch failed.
void throw_if_failed(const std::string& kernel);

// An element of D = A B + C as the tensor cores of `arch` accumulate 16-bit products in fp32
// (docs/judging-formulas.md).
plumbline_accumulator tensor_core_accumulator(std::uint32_t dtype, int arch);

}  // namespace plumbline::compiled
