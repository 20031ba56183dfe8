// Lists the devices of the providers, and reports an error for any other device.
#include "harness/cli/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "harness/base/text.h"
#include "harness/problem/arch.h"
#include "harness/provider/client/default_providers.h"
#include "harness/provider/client/device_name.h"
#include "harness/run/plan_devices.h"

namespace plumbline::cli {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

Error no_such_device(const std::string& device, const std::vector<std::string>& known,
                     const std::string& named_by) {
  const auto parsed = parse_device(device);
  const std::string message =
      fmt::format("{} \"{}\": there is no such device here", named_by, device);
  const std::string there =
      known.empty() ? "none but cpu" : fmt::format("{}", fmt::join(known, ", "));
  if (parsed && parsed->memory_space == PLUMBLINE_CUDA) {
    return {"", 0, message,
            fmt::format("no loaded provider can run on it; there are {}. Without a GPU, "
                        "emulated:sm_90 runs the same kernels "
                        "(`plumbline doctor`)",
                        there)};
  }
  return {"", 0, message, fmt::format("{}there are {}", did_you_mean(device, known), there)};
}

}  // namespace

std::vector<std::string> known_devices(const std::vector<ProviderInfo>& providers) {
  std::vector<std::string> devices;
  for (const ProviderInfo& provider : providers) {
    if (provider.hello.provider == "emulated") {
      for (const std::string_view arch : emulated_archs())
        devices.push_back(fmt::format("emulated:{}", arch));
    }
    for (const std::string& device : provider.hello.devices) {
      if (device != "cpu" && !contains(devices, device)) devices.push_back(device);
    }
  }
  return devices;
}

Errors unknown_devices(const std::vector<std::string>& devices,
                       const std::vector<ProviderInfo>& providers, const std::string& named_by) {
  const std::vector<std::string> known = known_devices(providers);
  const bool cuda_is_listed =
      std::ranges::any_of(known, [](const std::string& name) { return name.starts_with("cuda:"); });
  Errors errors;
  for (const std::string& device : devices) {
    if (device == "cpu" || contains(known, device)) continue;  // use_devices() rejects cpu
    const auto parsed = parse_device(device);
    if (parsed && parsed->memory_space == PLUMBLINE_CUDA && !cuda_is_listed && has_cuda_device())
      continue;
    errors.push_back(no_such_device(device, known, named_by));
  }
  return errors;
}

bool runs_on(const std::vector<Suite>& suites, const std::vector<std::string>& devices) {
  const auto is_here = [&](const SuiteCase& c) { return contains(devices, c.device); };
  return std::ranges::any_of(suites, [&](const Suite& suite) {
    return std::ranges::any_of(suite.cases, is_here) ||
           std::ranges::any_of(suite.diffs,
                               [&](const SuiteDiff& d) { return is_here(d.a) || is_here(d.b); });
  });
}

int default_jobs(const Plan& plan) {
  constexpr int max_jobs_on_gpu = 4;
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto is_on_gpu = [](const PlannedCase& c) { return c.c.device.starts_with("cuda"); };
  const bool any = std::ranges::any_of(plan.cases, is_on_gpu) ||
                   std::ranges::any_of(plan.diffs, [&](const PlannedDiff& d) {
                     return is_on_gpu(d.a) || is_on_gpu(d.b);
                   });
  return any ? std::min(processors, max_jobs_on_gpu) : processors;
}

}  // namespace plumbline::cli
