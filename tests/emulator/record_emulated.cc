// Records the emulator instead of a GPU, for sm_90 unless --arch is given. Only tests the
// recording; the result is not evidence.
#include <stdexcept>

#include "emulator/architectures.h"
#include "tests/emulator/record.h"

int main(int argc, char** argv) {
  using namespace plumbline;
  return testing::record_main(argc, argv, [](const std::string& name) {
    const auto arch = emulator::parse_arch(name.empty() ? "sm_90" : name);
    if (!arch)
      throw std::runtime_error("--arch " + name + ": expected one of " +
                               std::string(emulator::names_of_emulated));
    return testing::emulator_of(*arch);
  });
}
