// From suites to the list of cases and diffs that a run measures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/suite/suite.h"

namespace plumbline {

// A kernel that a loaded provider has.
struct OfferedKernel {
  std::string name;                   // "cpu/flash"
  std::string tensor_cores = "none";  // on, off, none
  // kinds it takes, "cpu", "cuda", "emulated"; empty: its provider does not say
  std::vector<std::string> devices = {};
  std::string question = "attention";  // or "merge"
};
// The question of a problem, as kernels name it.
inline std::string_view question_of(const Problem& problem) {
  return problem.is_merge() ? "merge" : "attention";
}
// "cpu" of "cpu/flash".
inline std::string provider_of(std::string_view kernel) {
  return std::string(kernel.substr(0, kernel.find('/')));
}
// Whether the kernel may be asked to run on a device: its provider says so, or does not say.
bool may_take(const OfferedKernel& kernel, std::string_view device);

struct PlannedCase {
  std::string suite, group, reason;
  Tier tier = Tier::smoke;
  Case c;
  std::string case_id;
  bool timed = false;
  std::string tensor_cores = "none";  // of the kernel
  std::optional<ExpectedFailure> expected = std::nullopt;
  std::string file = {};  // where its suite asks for it; "" = no suite does
  int line = 0;
};

// A suite's case with its kernel known, and with it whether the suite expects a failure.
PlannedCase planned(const SuiteCase& from, const OfferedKernel& kernel);

struct PlannedDiff {
  std::string suite, name, reason;
  Tier tier = Tier::smoke;
  DiffExpect expect = DiffExpect::rounding;
  PlannedCase a, b;
};

// Cases that a suite wants on a GPU and that cannot be asked here. They are no part of the plan,
// and are named as not measured.
struct AbsentCases {
  std::string suite, group;
  std::string why;  // "cuda:0 is not here", "the provider xformers is not loaded"
  int count = 0;
};

struct Plan {
  // without duplicates within a suite; sides of diffs are not listed here
  std::vector<PlannedCase> cases;
  std::vector<PlannedDiff> diffs;
  std::vector<AbsentCases> absent;
  // A glob left something of the tier out: suite statistics are not judged.
  bool partial = false;
  std::size_t size() const { return cases.size() + diffs.size(); }
};

// What a run finds beside kernels.
struct Surroundings {
  // "cuda:0"; nullopt: nobody asked, and every device may be there
  std::optional<std::vector<std::string>> cuda_devices;
  std::map<std::string, std::string>
      lacking;  // providers without kernels, and why: "torch is not installed for python3"
};

// Expands kernel globs against `kernels`, keeps those with the tensor-core modes that the case asks
// for, and applies the filter to "suite/group/case id" and to the bare case id (a diff is matched
// by "suite/name" and by both of its case ids), but for its shard: part_of (harness/run/shards.h)
// takes that of the whole. On the CPU a pattern
// matches kernels of `emulated/` and `cuda/` only where it names that provider: "*/*" does not mean
// kernels that refuse the CPU. A pattern that matches no kernel is an error that names its line and
// the kernels that come nearest, or how to get those of `emulated/` and `cuda/`. So is an expected
// failure for a kernel that its provider does not have or that no case asks for, unless the suites
// were redirected. A filter may leave nothing: an empty plan.
//
// Cases are absent where their provider lacks what it needs, and those on cuda:N also where that
// device is not here, and where the provider that they name is not loaded. Kernels that say that
// they take another kind of device are left out of a pattern's; where that leaves none, it is an
// error, unless the filter's globs drop the case for each of them.
Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<OfferedKernel>& kernels,
                       const CaseFilter& filter, const Surroundings& here = {});

// One line for each reason: "not measured, for cuda:0 is not here: 12 cases: s1/real_kernels (8),
// s2/real_kernels (4)".
std::vector<std::string> absent_lines(const std::vector<AbsentCases>& absent);

// Lets other kernels run the suites' problems: every group's kernels become `globs`, of any
// tensor-core mode, and diffs, which name their kernels, are dropped.
void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs);

// Other inputs for the suites' problems: those whose id names no seed, which is that of Problem{},
// get this one, in groups and in diffs. A suite that names a seed means those inputs.
void use_seed(std::vector<Suite>& suites, std::uint64_t seed);

// What to do where no loaded provider has a kernel that matches `pattern`.
std::string missing_kernel_remedy(std::string_view pattern,
                                  const std::vector<OfferedKernel>& kernels);

}  // namespace plumbline
