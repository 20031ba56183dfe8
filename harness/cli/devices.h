// Does the device that --device or a suite names exist on this machine, and how much runs on it at
// once?
#pragma once

#include <string>
#include <vector>

#include "harness/measure/measurer.h"

namespace plumbline::cli {

// Devices that cases can run on here: the emulator's architectures where a provider of emulated
// kernels is loaded, and what the providers say of themselves ("cuda:0"). Empty for a GPU whose
// provider names no devices: see unknown_devices.
std::vector<std::string> known_devices(const std::vector<ProviderInfo>& providers);

// An error for each device that no loaded provider can run on; it names those there are. A cuda:N
// is taken on trust where a GPU is there and no provider says which. `named_by` begins the
// messages: the option, or the case, that names them.
Errors unknown_devices(const std::vector<std::string>& devices,
                       const std::vector<ProviderInfo>& providers,
                       const std::string& named_by = "--device");

// Whether any case or diff of the suites is for one of these devices.
bool runs_on(const std::vector<Suite>& suites, const std::vector<std::string>& devices);

// One case a processor. On a GPU fewer: each worker holds a context there and, in Python, a
// framework, and imports it when it starts.
int default_jobs(const Plan& plan);

}  // namespace plumbline::cli
