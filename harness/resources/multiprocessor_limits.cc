// The table of threads and shared memory that a multiprocessor of each architecture has.
#include <array>

#include "harness/resources/occupancy.h"
#include "harness/resources/ptxas_report.h"

namespace plumbline {

std::optional<MultiprocessorLimits> multiprocessor_limits(std::string_view arch) {
  static constexpr std::array limits{
      MultiprocessorLimits{7, 5, 1024, 64, 0},      MultiprocessorLimits{8, 0, 2048, 164, 1024},
      MultiprocessorLimits{8, 6, 1536, 100, 1024},  MultiprocessorLimits{8, 7, 1536, 164, 1024},
      MultiprocessorLimits{8, 9, 1536, 100, 1024},  MultiprocessorLimits{9, 0, 2048, 228, 1024},
      MultiprocessorLimits{10, 0, 2048, 228, 1024}, MultiprocessorLimits{10, 3, 2048, 228, 1024},
      MultiprocessorLimits{11, 0, 1536, 228, 1024}, MultiprocessorLimits{12, 0, 1536, 100, 1024},
      MultiprocessorLimits{12, 1, 1536, 100, 1024}};
  for (const auto& device : limits) {
    if (device.major * 10 + device.minor == arch_number(arch)) return device;
  }
  return std::nullopt;
}

}  // namespace plumbline
