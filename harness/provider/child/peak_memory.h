// Measures the host memory of one call.
#pragma once

#include <cstdint>
#include <functional>

namespace plumbline {

// Returns the bytes by which `run` raises the process's peak resident memory above its present
// size; -1 if /proc lacks it. Pages that earlier calls freed are returned to the system first.
std::int64_t measure_peak_memory(const std::function<void()>& run);

}  // namespace plumbline
