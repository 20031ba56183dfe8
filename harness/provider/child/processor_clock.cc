// Finds the entry of the calling thread's processor in /proc/cpuinfo.
#include "harness/provider/child/processor_clock.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace plumbline {

double processor_mhz() {
  const int here = ::sched_getcpu();
  std::ifstream cpuinfo("/proc/cpuinfo");
  int processor = -1;
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (line.starts_with("processor")) processor = std::atoi(line.c_str() + colon + 1);
    if (processor == here && line.starts_with("cpu MHz"))
      return std::strtod(line.c_str() + colon + 1, nullptr);
  }
  return 0;
}

}  // namespace plumbline
