// Checks the devices that --device and suites name, and chooses how many cases run at once.
#pragma once

#include <string>
#include <vector>

#include "harness/measure/measurer.h"

namespace plumbline::cli {

// Returns the devices that cases can run on: the emulator's architectures if the provider of
// emulated kernels is loaded, and the devices that providers list ("cuda:0"). A GPU whose provider
// lists no devices is missing here: see unknown_devices.
std::vector<std::string> known_devices(const std::vector<ProviderInfo>& providers);

// Returns an error for each device that no loaded provider can run on, with the devices that exist.
// If the machine has a GPU and no provider lists one, any cuda:N is accepted. `named_by` begins the
// messages: the option or the case that names the device.
Errors unknown_devices(const std::vector<std::string>& devices,
                       const std::vector<ProviderInfo>& providers,
                       const std::string& named_by = "--device");

// Returns true if any case or diff of the suites runs on one of these devices.
bool runs_on(const std::vector<Suite>& suites, const std::vector<std::string>& devices);

// Returns the default of --jobs: one case per processor, and fewer on a GPU. Each worker holds a
// context there and, in Python, imports a framework when it starts.
int default_jobs(const Plan& plan);

}  // namespace plumbline::cli
