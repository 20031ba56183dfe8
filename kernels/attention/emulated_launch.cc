// Translates the provider's options into a schedule, and launches an instance in the emulator.
#include "kernels/attention/emulated_launch.h"

namespace plumbline::attention {
namespace {

emulator::Schedule schedule_of(const Options& options) {
  switch (options.schedule) {
    case Options::Schedule::in_order:
      return emulator::Schedule::in_order;
    case Options::Schedule::reversed:
      return emulator::Schedule::reversed;
    case Options::Schedule::random:
      return emulator::Schedule::random;
    case Options::Schedule::alternating:  // nobody asked
      break;
  }
  return emulator::Schedule::in_order;
}

}  // namespace

emulator::LaunchOptions emulated_launch_options(emulator::Arch arch, const Options& options) {
  emulator::LaunchOptions launch_options;
  launch_options.arch = arch;
  launch_options.schedule = schedule_of(options);
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
