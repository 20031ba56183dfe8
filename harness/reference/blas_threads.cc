// Controls OpenBLAS's threads through its own functions.
#include "harness/reference/blas_threads.h"

#include <cblas.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <mutex>
#include <system_error>

// Exported since OpenBLAS 0.2. No header declares it, and builds without threads lack it.
extern "C" [[gnu::weak]] int blas_thread_shutdown_(void);

namespace plumbline {

void use_one_blas_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

void end_blas_threads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error), end;
  rlimit address_space{};
  // blas_thread_shutdown_() would wait forever for threads that could not be started. With limited
  // memory (`ulimit -v`), it would wait for threads that keep retrying to allocate a buffer.
  const bool ends = !error && std::distance(tasks, end) == openblas_get_num_threads() &&
                    ::getrlimit(RLIMIT_AS, &address_space) == 0 &&
                    address_space.rlim_cur == RLIM_INFINITY;
  use_one_blas_thread();
  if (ends && blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
}

}  // namespace plumbline
