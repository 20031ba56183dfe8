// Asks OpenBLAS by its own functions.
#include "harness/reference/blas_threads.h"

#include <cblas.h>

#include <mutex>

// In OpenBLAS since 0.2; no header declares it, and builds without threads lack it.
extern "C" [[gnu::weak]] int blas_thread_shutdown_(void);

namespace plumbline {

void use_one_blas_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

void end_blas_threads() {
  use_one_blas_thread();
  if (blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
}

}  // namespace plumbline
