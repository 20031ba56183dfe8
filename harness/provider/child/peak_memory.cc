// Reads from /proc how far one call raises the process's peak of resident memory.
#include "harness/provider/child/peak_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace plumbline {

namespace {

// Returns a line such as "VmHWM:     1234 kB" of /proc/self/status in bytes; -1 if there is none.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == key && status >> kib) return kib * 1024;
    status.ignore(1024, '\n');
  }
  return -1;
}

// Writing 5 resets VmHWM to VmRSS (proc(5)). Some containers forbid it.
bool reset_high_water_mark() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return static_cast<bool>(clear);
}

}  // namespace

std::int64_t measure_peak_memory(const std::function<void()>& run) {
  malloc_trim(0);
  const bool reset = reset_high_water_mark();
  const std::int64_t before = status_bytes("VmRSS:");
  run();
  const std::int64_t highest = status_bytes("VmHWM:");
  return reset && before >= 0 && highest >= 0 ? std::max<std::int64_t>(0, highest - before) : -1;
}

}  // namespace plumbline
