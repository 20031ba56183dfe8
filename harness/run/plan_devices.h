// Moves suites to other devices, as --device asks.
#pragma once

#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

// Runs the suites on `devices` instead, each cuda:N or emulated:ARCH.
// - The providers `cuda` and `emulated` offer kernels of the same names: a pattern emulated/NAME
//   becomes cuda/NAME on a cuda device, and the other way round.
// - A kernel of `kernels` that says that it takes devices of such a kind moves to those of them
//   that it takes.
// - Every other kernel stays where it was, and runs there once.
// Cases that come to be the same are kept once. The sides of a diff move together; a diff whose
// sides differed in nothing but the device is dropped. An error where a device is no GPU.
Result<void> use_devices(std::vector<Suite>& suites, const std::vector<std::string>& devices,
                         const std::vector<OfferedKernel>& kernels = {});

}  // namespace plumbline
