// Turns suites into the list of cases and diffs that a run measures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/suite/suite.h"

namespace plumbline {

// A kernel of a loaded provider.
struct OfferedKernel {
  std::string name;                   // "cpu/flash"
  std::string tensor_cores = "none";  // on, off, none
  // Device kinds that it supports: "cpu", "cuda", "emulated". Empty if its provider does not state
  // them.
  std::vector<std::string> devices = {};
  std::string question = "attention";  // "attention" or "merge"
};
// Returns the operation of a problem, as kernels name it.
inline std::string_view operation_of(const Problem& problem) {
  return problem.is_merge() ? "merge" : "attention";
}
// Returns "cpu" for "cpu/flash".
inline std::string provider_of(std::string_view kernel) {
  return std::string(kernel.substr(0, kernel.find('/')));
}
// Returns true unless the provider states that the kernel does not run on the device.
bool may_run_on(const OfferedKernel& kernel, std::string_view device);

struct PlannedCase {
  std::string suite, group, reason;
  Tier tier = Tier::smoke;
  Case c;
  std::string case_id;
  bool timed = false;
  std::string tensor_cores = "none";  // mode of the kernel
  std::optional<ExpectedFailure> expected = std::nullopt;
  std::string file = {};  // its place in the suite; "" if no suite has the case
  int line = 0;
};

// Returns a suite's case for a known kernel, including the failure that the suite expects of it.
PlannedCase planned(const SuiteCase& from, const OfferedKernel& kernel);

struct PlannedDiff {
  std::string suite, name, reason;
  Tier tier = Tier::smoke;
  DiffExpect expect = DiffExpect::rounding;
  PlannedCase a, b;
};

// Cases of a suite that this run cannot measure because their GPU or provider is missing. They are
// not in the plan, and are reported as not measured.
struct AbsentCases {
  std::string suite, group;
  std::string why;  // "cuda:0 is not here", "the provider xformers is not loaded"
  int count = 0;
};

struct Plan {
  // Without duplicates within a suite, and without the sides of diffs.
  std::vector<PlannedCase> cases;
  std::vector<PlannedDiff> diffs;
  std::vector<AbsentCases> absent;
  // A glob excluded part of the tier, so suite statistics are not judged.
  bool partial = false;
  std::size_t size() const { return cases.size() + diffs.size(); }
};

// The environment of a run, besides kernels.
struct RunEnvironment {
  // "cuda:0"; nullopt = not queried, so every device may exist
  std::optional<std::vector<std::string>> cuda_devices;
  // The reason for each provider without kernels: "torch is not installed for python3".
  std::map<std::string, std::string> missing_providers;
};

// Expands kernel globs against `kernels`, keeps kernels with the case's tensor-core modes, and
// applies the filter to "suite/group/case id" and to the bare case id. A diff is matched by
// "suite/name" and by both of its case ids. The filter's shard is not applied: part_of
// (harness/run/shards.h) selects it from the full plan.
// On the CPU a pattern matches kernels of `emulated/` and `cuda/` only if it names that provider:
// "*/*" does not mean kernels that refuse the CPU.
// A pattern that matches no kernel is an error that names its line and the nearest kernels, or how
// to get those of `emulated/` and `cuda/`. An expected failure for a kernel that its provider does
// not have or that no case uses is also an error, unless the suites were redirected. If the filter
// leaves nothing, the plan is empty.
//
// Cases are absent if their provider has no kernels (RunEnvironment::missing_providers). Cases on
// cuda:N are also absent if that device does not exist or the provider that they name is not
// loaded. A pattern leaves out kernels that state another kind of device. If none remains, that is
// an error, unless the filter's globs drop the case for every kernel that the pattern matches.
Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<OfferedKernel>& kernels,
                       const CaseFilter& filter, const RunEnvironment& here = {});

// Returns one line per reason: "not measured, for cuda:0 is not here: 12 cases: s1/real_kernels
// (8), s2/real_kernels (4)".
std::vector<std::string> absent_lines(const std::vector<AbsentCases>& absent);

// Lets other kernels run the suites' problems: the kernels of every group become `globs`, with any
// tensor-core mode. Diffs, which name their kernels, are dropped.
void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs);

// Changes the inputs of the suites' problems, in groups and diffs: problems with the default seed,
// which their ids leave out, get `seed`. Problems with another seed keep their inputs.
void use_seed(std::vector<Suite>& suites, std::uint64_t seed);

// Returns the remedy if no loaded provider has a kernel that matches `pattern`.
std::string missing_kernel_remedy(std::string_view pattern,
                                  const std::vector<OfferedKernel>& kernels);

}  // namespace plumbline
