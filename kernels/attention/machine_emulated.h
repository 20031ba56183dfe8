// The emulator's additions to machine.h.
#pragma once

#include <functional>

#include "emulator/machine/launch.h"
#include "kernels/attention/machine.h"

namespace plumbline::attention {

// A hook between provider and emulator: gets each launch and runs it, changed or not. Empty:
// launches are unchanged. For mutants (kernels/mutants/tensor_core).
using LaunchChange = std::function<std::string(
    const Instance&, const emulator::LaunchOptions&,
    const std::function<std::string(const emulator::LaunchOptions&)>& run)>;
LaunchChange& launch_change();

}  // namespace plumbline::attention
