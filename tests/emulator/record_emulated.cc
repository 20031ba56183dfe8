// Records the emulator instead of a GPU, for sm_90 unless --arch is given. Only tests the
// recording; the result is not evidence.
#include <stdexcept>

#include "tests/emulator/record.h"

int main(int argc, char** argv) {
  using namespace plumbline;
  return testing::record_main(argc, argv, [](const std::string& name) {
    const auto arch = emulator::parse_arch(name.empty() ? "sm_90" : name);
    if (!arch)
      throw std::runtime_error("--arch " + name +
                               ": expected sm_80, sm_86, sm_89, "
                               "sm_90 or sm_100");
    return testing::emulator_of(*arch);
  });
}
