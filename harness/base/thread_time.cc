// Reads the thread's clock from the kernel.
#include "harness/base/thread_time.h"

#include <ctime>

namespace plumbline {

std::chrono::nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace plumbline
