// How an instance of our kernels runs in the emulator.
#pragma once

#include <string>

#include "emulator/machine/launch.h"
#include "kernels/attention/machine.h"

namespace plumbline::attention {

emulator::LaunchOptions emulated_launch_options(emulator::Arch arch, const Options& options);

// Has finished when it returns. "" or what went wrong.
std::string launch_emulated(const emulator::LaunchOptions& launch_options, const Instance& instance,
                            const Grid& grid, int shared_bytes, const Parameters& parameters);

}  // namespace plumbline::attention
