// The only parallel loop of the harness, over oneTBB.
#pragma once

#include <cstdint>

namespace plumbline {

namespace detail {
void run_parallel(std::int64_t count, void (*body)(const void* context, std::int64_t i),
                  const void* context);
}

// Calls body(i) for every i in [0, count), in the calling oneTBB arena. Returns when all are done,
// or throws what one of them threw. If `share` is false, the calls are sequential: for small work,
// which takes no longer than waking a thread. Threads of oneTBB get the usual floating-point state
// (floating_point_state.h).
template <class Body>
void parallel_for(std::int64_t count, const Body& body, bool share = true) {
  if (!share || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  detail::run_parallel(
      count, [](const void* context, std::int64_t i) { (*static_cast<const Body*>(context))(i); },
      &body);
}

}  // namespace plumbline
