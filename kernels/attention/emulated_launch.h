// How an instance of our kernels runs in the emulator.
#pragma once

#include <string>

#include "kernels/attention/machine.h"
#include "kernels/emulator/launch.h"

namespace plumbline::attention {

// Where the options leave the order of threads open it alternates: every other launch of this
// process runs its threads the other way round. A case is run twice and must give the same bits, so
// that a missing barrier or wait shows as nondeterminism.
emulator::LaunchOptions emulated_launch_options(emulator::Arch arch, const Options& options,
                                                const Instance& instance);

// Has finished when it returns. "" or what went wrong.
std::string launch_emulated(const emulator::LaunchOptions& launch_options, const Instance& instance,
                            const Grid& grid, int shared_bytes, const Parameters& parameters);

}  // namespace plumbline::attention
