// Records mma.sync on this machine's GPU. Exit codes of record_main, and 4: there is no GPU, or its
// architecture has no model.
#include <fmt/core.h>

#include <cstdlib>

#include "tests/emulator/record.h"
#include "tests/gpu/hardware_mma.h"

int main(int argc, char** argv) {
  using namespace plumbline;
  return testing::record_main(argc, argv, [](const std::string&) {
    const testing::Gpu gpu = testing::find_gpu();
    const auto arch = emulator::parse_arch(gpu.arch);
    if (!gpu.missing.empty() || !arch) {
      fmt::print(stderr, "{}\n",
                 gpu.missing.empty() ? "no model of " + gpu.arch : "no GPU: " + gpu.missing);
      std::exit(4);
    }
    return testing::Machine{*arch, gpu.name, gpu.driver, gpu.toolkit, testing::mma_on_gpu};
  });
}
