// One parallel loop for the whole harness, over oneTBB.
#pragma once

#include <cstdint>

namespace plumbline {

namespace detail {
void run_parallel(std::int64_t count, void (*body)(const void* context, std::int64_t i), const void* context);
}

// body(i) for every i in [0, count), in the calling oneTBB arena; returns when all are done, or throws what one of them threw.
template <class Body>
void parallel_for(std::int64_t count, const Body& body) {
  detail::run_parallel(
      count, [](const void* context, std::int64_t i) { (*static_cast<const Body*>(context))(i); }, &body);
}

}  // namespace plumbline
