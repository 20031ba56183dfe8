// Implements --device: moves the GPU cases of a suite to the given devices.
#include "harness/run/plan_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/provider/client/device_name.h"
#include "harness/suite/gpu_case.h"

namespace plumbline {
namespace {

// Returns the provider of our GPU kernels for this device.
std::string provider_on(const std::string& device) {
  return device.starts_with("cuda:") ? "cuda" : "emulated";
}

SuiteCase on(SuiteCase c, const std::string& kernel, const std::string& device) {
  c.kernel_pattern = kernel;
  c.device = device;
  return c;
}

// Returns true if the kernel declares that it takes the device. may_run_on() also accepts kernels
// that declare nothing; those stay where the suite puts them.
bool takes(const OfferedKernel& kernel, const std::string& device) {
  return !kernel.devices.empty() && may_run_on(kernel, device);
}

// Returns the case on each device that its kernels take. Kernels that take none of the devices stay
// on the case's own.
std::vector<SuiteCase> moved(const SuiteCase& c, const std::vector<std::string>& devices,
                             const std::vector<OfferedKernel>& kernels) {
  std::vector<SuiteCase> result;
  if (is_gpu_kernel(c.kernel_pattern)) {
    for (const std::string& device : devices) {
      result.push_back(
          on(c, provider_on(device) + c.kernel_pattern.substr(c.kernel_pattern.find('/')), device));
    }
    return result;
  }
  bool all_stay = true;
  for (const OfferedKernel& kernel : kernels) {
    if (!glob_match(c.kernel_pattern, kernel.name) ||
        (c.device == "cpu" && is_gpu_kernel(kernel.name)))
      continue;
    const std::size_t before = result.size();
    for (const std::string& device : devices) {
      if (takes(kernel, device)) result.push_back(on(c, kernel.name, device));
    }
    all_stay = all_stay && result.size() == before;
    if (result.size() == before) result.push_back(on(c, kernel.name, c.device));
  }
  if (all_stay) return {c};
  return result;
}

// Returns a diff's side on one device; it stays if its kernel does not take the device.
SuiteCase moved_side(const SuiteCase& c, const std::string& device,
                     const std::vector<OfferedKernel>& kernels) {
  return moved(c, {device}, kernels).front();
}

std::string identity(const SuiteCase& c) {
  return fmt::format("{} {}", case_id({c.kernel_pattern, c.device, c.problem}),
                     fmt::join(c.tensor_cores, " "));
}

// Keeps the first of equal cases. It is timed if any of them is, and gets the lowest tier.
class Cases {
 public:
  std::vector<SuiteCase> list;

  void add(SuiteCase c) {
    const auto [found, is_new] = index_.try_emplace(identity(c), list.size());
    if (is_new) {
      list.push_back(std::move(c));
      return;
    }
    SuiteCase& standing = list[found->second];
    standing.timed = standing.timed || c.timed;
    standing.tier = std::min(standing.tier, c.tier);
  }

 private:
  std::map<std::string, std::size_t> index_;
};

bool is_moved(const SuiteDiff& from, const SuiteDiff& to) {
  return identity(from.a) != identity(to.a) || identity(from.b) != identity(to.b);
}

Result<void> check_devices(const std::vector<std::string>& devices) {
  Errors errors;
  for (const std::string& name : devices) {
    const auto device = parse_device(name);
    if (device && device->memory_space != PLUMBLINE_HOST) continue;
    errors.push_back({"", 0, fmt::format("--device \"{}\" is not a GPU", name),
                      "use cuda:N or emulated:ARCH, for example emulated:sm_90"});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return {};
}

std::vector<SuiteDiff> moved_diffs(const std::vector<SuiteDiff>& diffs,
                                   const std::vector<std::string>& devices,
                                   const std::vector<OfferedKernel>& kernels) {
  std::vector<SuiteDiff> result;
  std::map<std::string, bool> seen;
  for (const SuiteDiff& diff : diffs) {
    std::vector<SuiteDiff> on_devices;
    bool one_moves = false;
    for (const std::string& device : devices) {
      SuiteDiff d = diff;
      d.a = moved_side(diff.a, device, kernels);
      d.b = moved_side(diff.b, device, kernels);
      one_moves = one_moves || is_moved(diff, d);
      on_devices.push_back(std::move(d));
    }
    for (SuiteDiff& d : on_devices) {
      if (identity(d.a) == identity(d.b) || (one_moves && !is_moved(diff, d))) continue;
      if (seen.try_emplace(fmt::format("{} {} {}", d.name, identity(d.a), identity(d.b)), true)
              .second)
        result.push_back(std::move(d));
    }
  }
  return result;
}

}  // namespace

Result<void> use_devices(std::vector<Suite>& suites, const std::vector<std::string>& devices,
                         const std::vector<OfferedKernel>& kernels) {
  if (auto checked = check_devices(devices); !checked || devices.empty()) return checked;
  for (Suite& suite : suites) {
    suite.redirected = true;
    Cases cases;
    for (const SuiteCase& c : suite.cases) {
      for (SuiteCase& m : moved(c, devices, kernels)) cases.add(std::move(m));
    }
    suite.cases = std::move(cases.list);
    suite.diffs = moved_diffs(suite.diffs, devices, kernels);
  }
  return {};
}

}  // namespace plumbline
