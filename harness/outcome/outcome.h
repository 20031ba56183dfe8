// The outcome of one case without its tensors: the input of judge, store and reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/outcome/compared_output.h"
#include "harness/outcome/times.h"
#include "harness/problem/problem.h"
#include "harness/provider/description.h"
#include "harness/provider/device_facts.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {

// The identity of a case, and how its call went.
struct CaseRun {
  // identity
  std::string suite, group, tier;
  Case c;
  std::string case_id;
  // options of the kernel's provider, as given after its file; "" if there were none
  std::string provider_options;
  std::string problem_digest;
  // what happened
  Description description;
  DeviceFacts device;  // the GPU it ran on; empty on the CPU and the emulator
  std::uint64_t workspace_bytes = 0;
  std::string output_digest;  // XXH3-128 of all outputs, 32 hex digits; "" unless ok
  // repeat_checked: several calls wrote freshly poisoned outputs; repeat_equal: with equal bits
  bool repeat_checked = false, repeat_equal = false;
  // Untimed calls (harness/measure/calls.h): 3, or 2 if a call takes too long; 0 = unknown.
  int calls = 0;
  // Their difference in words: "the second call (the same plan again) gave nan where …"; "" = none.
  std::string call_difference;
  // timing, only for timed cases
  bool timed = false;
  double time_ns = 0;      // median over repetitions; on a GPU with a flushed L2
  double time_hot_ns = 0;  // the same, with the L2 as the previous call left it; 0 = not a GPU
  double time_mad_ns = 0;
  // The ratio that the gate judges: kernel over sentinel, by processor time or a GPU's clock
  // (summarise_rounds()).
  double time_ratio = 0;
  Times times;
  // growth of the worker's resident memory during one call, workspace included; -1 = unknown
  std::int64_t peak_memory_bytes = -1;
  double wall_ms = 0;    // the whole measurement
  std::string saved_to;  // file of --save-failures, "" if none
  // Id of the case that was measured instead: the same kernel and problem on another architecture.
  // This outcome is a copy of that case's, because the kernel uses no tensor cores. "" if this case
  // was measured.
  std::string reused_from;
  std::optional<ExpectedFailure> expected = std::nullopt;  // from its suite
};

// All members are in the bases, so that a test can list them by structured binding.
struct Outcome : CaseRun, ComparedOutput {};

// Returns the architecture that a case ran for, "sm_90": from an emulated device's name, otherwise
// from the kernel's description, otherwise from the GPU. "" = the machine's own CPU, or unknown.
inline std::string arch_of(const Outcome& outcome) {
  constexpr std::string_view emulated = "emulated:";
  if (outcome.c.device.starts_with(emulated)) return outcome.c.device.substr(emulated.size());
  return outcome.description.device_arch.empty() ? outcome.device.arch
                                                 : outcome.description.device_arch;
}

}  // namespace plumbline
