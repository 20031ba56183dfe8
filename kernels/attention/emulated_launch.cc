// Translates the provider's options into a schedule, and launches an instance in the emulator.
#include "kernels/attention/emulated_launch.h"

namespace plumbline::attention {
emulator::LaunchOptions emulated_launch_options(emulator::Arch arch, const Options& options) {
  emulator::LaunchOptions launch_options;
  launch_options.arch = arch;
  using emulator::Schedule;
  // In the order of Options::Schedule. `alternating` runs in order if the call does not choose.
  constexpr Schedule schedules[] = {Schedule::in_order, Schedule::in_order, Schedule::reversed,
                                    Schedule::random};
  launch_options.schedule = schedules[static_cast<std::size_t>(options.schedule)];
  launch_options.seed = options.seed;
  return launch_options;
}

std::string launch_emulated(const emulator::LaunchOptions& launch_options, const Instance& instance,
                            const Grid& grid, int shared_bytes, const Parameters& parameters) {
  return emulator::launch(launch_options, {grid.x, grid.y, grid.z},
                          {static_cast<unsigned>(instance.threads)},
                          static_cast<std::size_t>(shared_bytes), instance.function, parameters);
}

}  // namespace plumbline::attention
