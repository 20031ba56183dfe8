// --device: the GPU part of a suite on other devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/measure/plan.h"
#include "harness/provider/device_name.h"
#include "harness/provider/gpu_case.h"

namespace plumbline {
namespace {

// The provider of our GPU kernels on a device of this name.
std::string provider_on(const std::string& device) { return device.starts_with("cuda:") ? "cuda" : "emulated"; }

SuiteCase moved(SuiteCase c, const std::string& device) {
  if (!is_gpu_kernel(c.kernel_pattern)) return c;
  c.kernel_pattern = provider_on(device) + c.kernel_pattern.substr(c.kernel_pattern.find('/'));
  c.device = device;
  return c;
}

std::string identity(const SuiteCase& c) {
  return fmt::format("{} {}", case_id({c.kernel_pattern, c.device, c.problem}), fmt::join(c.tensor_cores, " "));
}

// Keeps the first of equal cases: timed if any is, and of the lowest tier.
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

Result<void> check_devices(const std::vector<std::string>& devices) {
  Errors errors;
  for (const std::string& name : devices) {
    const auto device = parse_device(name);
    if (device && device->memory_space != PLUMBLINE_HOST) continue;
    errors.push_back({"", 0, fmt::format("--device \"{}\" is not a GPU", name), "use cuda:N or emulated:ARCH, for example emulated:sm_90"});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return {};
}

std::vector<SuiteDiff> moved_diffs(const std::vector<SuiteDiff>& diffs, const std::vector<std::string>& devices) {
  std::vector<SuiteDiff> result;
  std::map<std::string, bool> seen;
  for (const SuiteDiff& diff : diffs) {
    for (const std::string& device : devices) {
      SuiteDiff d = diff;
      d.a = moved(diff.a, device);
      d.b = moved(diff.b, device);
      if (identity(d.a) == identity(d.b)) continue;
      if (seen.try_emplace(fmt::format("{} {} {}", d.name, identity(d.a), identity(d.b)), true).second) result.push_back(std::move(d));
    }
  }
  return result;
}

}  // namespace

Result<void> use_devices(std::vector<Suite>& suites, const std::vector<std::string>& devices) {
  if (auto checked = check_devices(devices); !checked || devices.empty()) return checked;
  for (Suite& suite : suites) {
    suite.redirected = true;
    Cases cases;
    for (const SuiteCase& c : suite.cases) {
      for (const std::string& device : devices) cases.add(moved(c, device));
    }
    suite.cases = std::move(cases.list);
    suite.diffs = moved_diffs(suite.diffs, devices);
  }
  return {};
}

}  // namespace plumbline
