// Moves suites to other devices, for --device.
#pragma once

#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

// Runs the suites on `devices` instead, each cuda:N or emulated:ARCH.
// - The providers `cuda` and `emulated` offer kernels of the same names. A pattern emulated/NAME
//   becomes cuda/NAME on a cuda device, and vice versa.
// - A kernel of `kernels` moves to those of `devices` that it declares as supported.
// - Every other kernel stays where it was, and runs there once.
// Cases that become equal are kept once. The sides of a diff move together. A diff whose sides
// differed only in the device is dropped. Error: a device is not a GPU.
Result<void> use_devices(std::vector<Suite>& suites, const std::vector<std::string>& devices,
                         const std::vector<OfferedKernel>& kernels = {});

}  // namespace plumbline
