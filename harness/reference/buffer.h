// Memory of the reference's matrices: cache-aligned, but plain vectors under ThreadSanitizer.
#pragma once

#include <tbb/cache_aligned_allocator.h>

#include <cstdint>
#include <vector>

namespace plumbline {

#ifdef __SANITIZE_THREAD__
// oneTBB's allocator is not instrumented, so ThreadSanitizer does not see how it passes memory from
// one thread to another. Every element would be reported as a race.
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
