// Launches an instance of our kernels in the emulator.
#pragma once

#include <string>

#include "emulator/machine/launch.h"
#include "kernels/attention/machine.h"

namespace plumbline::attention {

emulator::LaunchOptions emulated_launch_options(emulator::Arch arch, const Options& options);

// Waits until the kernel has finished. Returns "" or the error.
std::string launch_emulated(const emulator::LaunchOptions& launch_options, const Instance& instance,
                            const Grid& grid, int shared_bytes, const Parameters& parameters);

}  // namespace plumbline::attention
