// Records the kernels that third-party host code launches. The linker inserts a function of ours
// before cudaLaunchKernel (plumbline_compiled_library in DeviceCode.cmake).
#pragma once

#include <cstddef>

namespace plumbline::compiled {

// The first kernel of a run, which computes attention. A kernel that merges splits may follow.
struct Launched {
  const void* kernel = nullptr;  // for cudaFuncGetAttributes; nullptr: none was launched
  std::size_t dynamic_shared_bytes = 0;
};

// Clears `first`. While a LaunchRecord exists, its thread's first launch is stored in `first`.
class LaunchRecord {
 public:
  explicit LaunchRecord(Launched& first);
  ~LaunchRecord();
  LaunchRecord(const LaunchRecord&) = delete;
  LaunchRecord& operator=(const LaunchRecord&) = delete;
};

}  // namespace plumbline::compiled
