// From suites to the list of cases and diffs that a run measures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/problem/suite.h"

namespace plumbline {

// A kernel that a loaded provider has.
struct OfferedKernel {
  std::string name;                   // "cpu/flash"
  std::string tensor_cores = "none";  // on, off, none
};

struct PlannedCase {
  std::string suite, group, reason;
  Tier tier = Tier::smoke;
  Case c;
  std::string case_id;
  bool timed = false;
  std::string tensor_cores = "none";  // of the kernel
  std::optional<ExpectedFailure> expected = std::nullopt;
};

// A suite's case with its kernel known, and with it whether the suite expects a failure.
PlannedCase planned(const SuiteCase& from, const OfferedKernel& kernel);

struct PlannedDiff {
  std::string suite, name, reason;
  Tier tier = Tier::smoke;
  DiffExpect expect = DiffExpect::rounding;
  PlannedCase a, b;
};

struct Plan {
  std::vector<PlannedCase> cases;  // without duplicates within a suite; sides of diffs are not listed here
  std::vector<PlannedDiff> diffs;
  // A glob left something of the tier out: suite statistics are not judged.
  bool partial = false;
  std::size_t size() const { return cases.size() + diffs.size(); }
};

// Expands kernel globs against `kernels`, keeps those with the tensor-core modes that the case asks for, and applies the filter to
// "suite/group/case id" and to the bare case id (a diff is matched by "suite/name" and by both of its case ids, and sharded by its first
// case). On the CPU a pattern matches kernels of `emulated/` and `cuda/` only where it names that provider: "*/*" does not mean kernels
// that refuse the CPU. A pattern that matches no kernel is an error that names the suite's line and the kernels there are, or how to get
// those of `emulated/` and `cuda/`. So is an expected failure for a kernel that its provider does not have or that no case asks for,
// unless the suites were redirected. A shard or a filter may leave nothing: an empty plan.
Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<OfferedKernel>& kernels, const CaseFilter& filter);

// Lets other kernels run the suites' problems: every group's kernels become `globs`, of any tensor-core mode, and diffs, which name their
// kernels, are dropped.
void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs);

// Runs what the suites ask of our GPU kernels on `devices` instead, each cuda:N or emulated:ARCH. The providers `cuda` and `emulated` offer
// kernels of the same names: a pattern emulated/NAME becomes cuda/NAME on a cuda device, and the other way round. Cases of other providers
// stay as they are. Cases that come to be the same are kept once. The sides of a diff move together; a diff whose sides differed in
// nothing but the device is dropped. An error where a device is no GPU.
Result<void> use_devices(std::vector<Suite>& suites, const std::vector<std::string>& devices);

// What to do where no loaded provider has a kernel that matches `pattern`.
std::string missing_kernel_remedy(std::string_view pattern, const std::vector<OfferedKernel>& kernels);

}  // namespace plumbline
