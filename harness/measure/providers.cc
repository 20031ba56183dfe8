// Loads providers, and lists their kernels and devices.
#include "harness/measure/providers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/harness_failure.h"
#include "harness/provider/client/default_providers.h"
#include "harness/suite/gpu_case.h"
#include "harness/timing/time_limit.h"

namespace plumbline {

std::chrono::milliseconds timeout_of(const MeasureOptions& options, const Case& c,
                                     int timed_repetitions) {
  return options.timeout ? *options.timeout : time_limit(c.problem, c.device, timed_repetitions);
}

const ProviderInfo* find_provider(const std::vector<ProviderInfo>& providers,
                                  const std::string& kernel) {
  const std::string name = provider_of(kernel);
  const auto found = std::ranges::find(
      providers, name, [](const ProviderInfo& provider) { return provider.hello.provider; });
  return found == providers.end() ? nullptr : &*found;
}

PerRowOutput<bool> further_outputs(const ProviderInfo* provider, std::string_view kernel) {
  return provider == nullptr ? PerRowOutput<bool>{} : further_outputs(provider->hello, kernel);
}

WorkerOptions worker_options(const MeasureOptions& options, const std::string& provider) {
  return {options.worker_executable, provider, options.memory_limit_bytes,
          options.timeout.value_or(min_time_limit), options.pass_env};
}

namespace {

// No case is running yet, so a HarnessFailure is an ordinary error of the command.
Result<Hello> hello_of(const WorkerOptions& options, std::unique_ptr<Worker>& worker) {
  try {
    auto created = Worker::create(options);
    if (!created) return tl::unexpected(created.error());
    worker = std::move(*created);
    return worker->hello();
  } catch (const HarnessFailure& failure) {
    return tl::unexpected(failure.errors());
  }
}

}  // namespace

tl::expected<std::vector<ProviderInfo>, ProviderErrors> discover(const MeasureOptions& options) {
  std::vector<ProviderInfo> providers;
  ProviderErrors errors;
  for (const std::string& library : options.providers) {
    std::unique_ptr<Worker> worker;
    const auto hello = hello_of(worker_options(options, library), worker);
    if (!hello) {
      errors.are_option_errors = errors.are_option_errors && worker && worker->refused_options();
      errors.insert(errors.end(), hello.error().begin(), hello.error().end());
      continue;
    }
    std::erase_if(providers,
                  [&](const ProviderInfo& p) { return p.hello.provider == hello->provider; });
    providers.push_back({library, *hello});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return providers;
}

std::vector<OfferedKernel> offered_kernels(const std::vector<ProviderInfo>& providers) {
  std::vector<OfferedKernel> kernels;
  for (const auto& [library, hello] : providers) {
    const bool has_gpu = std::ranges::any_of(
        hello.devices, [](const auto& device) { return device_kind(device) == "cuda"; });
    for (std::size_t i = 0; i < hello.kernels.size(); ++i) {
      std::vector<std::string> takes = hello.kernel_devices[i];
      // If a provider has GPU memory but lists no devices for a kernel, assume that the kernel runs
      // on the GPU as well as on the CPU.
      if (takes.empty() && has_gpu && !is_gpu_kernel(hello.kernels[i])) takes = {"cpu", "cuda"};
      kernels.push_back(
          {hello.kernels[i], hello.tensor_cores[i], std::move(takes), hello.questions[i]});
    }
  }
  return kernels;
}

RunEnvironment run_environment(const std::vector<ProviderInfo>& providers) {
  RunEnvironment here;
  std::set<std::string> found;
  bool has_cuda = has_cuda_device();
  for (const auto& [library, hello] : providers) {
    // The cuda provider is loaded only if a GPU was found or the user asked for it.
    has_cuda = has_cuda || hello.provider == "cuda";
    if (hello.kernels.empty()) here.missing_providers.emplace(hello.provider, hello.version);
    for (const std::string& device : hello.devices) {
      if (device_kind(device) == "cuda") found.insert(device);
    }
  }
  if (found.empty() && has_cuda) {
    for (int ordinal = 0; ordinal < 8; ++ordinal) found.insert(fmt::format("cuda:{}", ordinal));
  }
  here.cuda_devices.emplace(found.begin(), found.end());
  return here;
}

}  // namespace plumbline
