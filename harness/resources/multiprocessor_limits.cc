// Looks up threads and shared memory of a multiprocessor in the table of architectures.
#include "emulator/architectures.h"
#include "harness/resources/occupancy.h"
#include "harness/resources/ptxas_report.h"

namespace plumbline {

std::optional<MultiprocessorLimits> multiprocessor_limits(std::string_view arch) {
  const int number = arch_number(arch);
  for (const Architecture& one : architectures) {
    if (one.number == number) {
      return MultiprocessorLimits{number / 10, number % 10, one.threads, one.shared_kib,
                                  one.reserved_shared_bytes};
    }
  }
  return std::nullopt;
}

}  // namespace plumbline
