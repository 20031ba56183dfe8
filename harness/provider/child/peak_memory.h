// Measures how much host memory one call takes.
#pragma once

#include <cstdint>
#include <functional>

namespace plumbline {

// By how many bytes the resident memory of this process rises at most while `run` runs, over what
// it holds before (pages that earlier calls freed are given back first, and what was allocated
// before and stays is not counted). -1 where /proc cannot tell.
std::int64_t measure_peak_memory(const std::function<void()>& run);

}  // namespace plumbline
