// Memory of the reference's matrices: cache-aligned, and plain vectors under ThreadSanitizer.
#pragma once

#include <tbb/cache_aligned_allocator.h>

#include <cstdint>
#include <vector>

namespace plumbline {

#ifdef __SANITIZE_THREAD__
// oneTBB's allocator, which is not instrumented, hands memory from one thread to another unseen:
// every element would be a race.
template <class T>
using Buffer = std::vector<T>;
#else
template <class T>
using Buffer = std::vector<T, tbb::cache_aligned_allocator<T> >;
#endif

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace plumbline
