// Implements the parallel loop on oneTBB, hidden from ThreadSanitizer. oneTBB's library is not
// instrumented, so memory accesses of its headers and all results of tasks would look like races.
// This source is compiled without ThreadSanitizer, and reports fork and join to it.
#include "harness/base/parallel.h"

#include <oneapi/tbb/parallel_for.h>

#include "harness/base/floating_point_state.h"

#ifdef PLUMBLINE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace plumbline::detail {

namespace {
#ifdef PLUMBLINE_THREAD_SANITIZER
void acquire(char& sync) { __tsan_acquire(&sync); }
void release(char& sync) { __tsan_release(&sync); }
#else
void acquire(char&) {}
void release(char&) {}
#endif
}  // namespace

void run_parallel(std::int64_t count, void (*body)(const void* context, std::int64_t i),
                  const void* context) {
  char fork = 0, join = 0;
  release(fork);
  tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
    acquire(fork);
    // a oneTBB thread has the state of the thread that first needed it
    const UsualFloatingPoint state;
    body(context, i);
    release(join);
  });
  acquire(join);
}

}  // namespace plumbline::detail
