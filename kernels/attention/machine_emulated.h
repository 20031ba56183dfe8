// What the emulator offers beyond machine.h.
#pragma once

#include <functional>

#include "emulator/machine/launch.h"
#include "kernels/attention/machine.h"

namespace plumbline::attention {

// Stands between the provider and the emulator: is given what would be launched, and runs it as it
// is or changed. Empty: nothing is changed. For mutants (kernels/mutants/tensor_core).
using LaunchChange = std::function<std::string(
    const Instance&, const emulator::LaunchOptions&,
    const std::function<std::string(const emulator::LaunchOptions&)>& run)>;
LaunchChange& launch_change();

}  // namespace plumbline::attention
