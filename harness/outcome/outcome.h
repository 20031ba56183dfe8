// What happened to one case, without its tensors: what judge, store and reports need.
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

// Which case it is, and how its call went.
struct CaseRun {
  // identity
  std::string suite, group, tier;
  Case c;
  std::string case_id;
  // of the kernel's provider, as they were given behind its file; "" if none were
  std::string provider_options;
  std::string problem_digest;
  // what happened
  Description description;
  DeviceFacts device;  // of the GPU it ran on; empty on the CPU and the emulator
  std::uint64_t workspace_bytes = 0;
  std::string output_digest;  // XXH3-128 of out and lse, 32 hex digits; "" unless ok
  // whether there were several calls, each into freshly poisoned outputs; all gave the same bits
  bool repeat_checked = false, repeat_equal = false;
  // Untimed calls (harness/measure/calls.h): 3, or 2 where one takes too long; 0 = not known.
  int calls = 0;
  // What differs, in words: "the second call (the same plan again) gave nan where …"; "" = nothing.
  std::string call_difference;
  // timing, only for timed cases
  bool timed = false;
  double time_ns = 0;      // median over repetitions; on a GPU with a flushed L2
  double time_hot_ns = 0;  // likewise with what the call before left in the L2; 0 = not a GPU
  double time_mad_ns = 0;
  // What gates: kernel over sentinel, by processor time or the clock of a GPU; median of rounds.
  double time_ratio = 0;
  Times times;
  // by which the worker's resident memory rose during one call, workspace included; -1 = unknown
  std::int64_t peak_memory_bytes = -1;
  double wall_ms = 0;    // of the whole measurement
  std::string saved_to;  // file of --save-failures, "" if none
  // Case id of the same kernel and problem on another architecture whose outcome this is: not
  // measured again, because the kernel uses no tensor cores. "" where the case itself was measured.
  std::string reused_from;
  std::optional<ExpectedFailure> expected = std::nullopt;  // what its suite says of it
};

// Members are in the bases alone, so that a test can name all of each.
struct Outcome : CaseRun, ComparedOutput {};

// The architecture a case ran for, "sm_90": an emulated device names it, any other kernel may
// describe it, and a GPU says it of itself; "" = on the CPU the machine's own, elsewhere not known.
inline std::string arch_of(const Outcome& outcome) {
  constexpr std::string_view emulated = "emulated:";
  if (outcome.c.device.starts_with(emulated)) return outcome.c.device.substr(emulated.size());
  return outcome.description.device_arch.empty() ? outcome.device.arch
                                                 : outcome.description.device_arch;
}

}  // namespace plumbline
