// What a run launched of others' kernels. Their own host code launches: the linker puts a function
// of ours before cudaLaunchKernel (plumbline_compiled_library in DeviceCode.cmake).
#pragma once

#include <cstddef>

namespace plumbline::compiled {

// The first kernel of a run, which computes attention; one that merges its splits may follow.
struct Launched {
  const void* kernel = nullptr;  // as cudaFuncGetAttributes takes it; nullptr: none was launched
  std::size_t dynamic_shared_bytes = 0;
};

// Until it goes, the launches of this thread are noted in `first`, which begins empty.
class LaunchRecord {
 public:
  explicit LaunchRecord(Launched& first);
  ~LaunchRecord();
  LaunchRecord(const LaunchRecord&) = delete;
  LaunchRecord& operator=(const LaunchRecord&) = delete;
};

}  // namespace plumbline::compiled
