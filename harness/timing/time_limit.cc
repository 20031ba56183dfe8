// Divides a request's multiply-adds by a rate below that of our slowest kernel.
#include "harness/timing/time_limit.h"

#include <algorithm>

namespace plumbline {

double slowest_rate(std::string_view device) {
  // About a quarter of the rates of our slowest kernels, multiply_adds over the median time:
  // cpu/split_kv 1.5e9 a second (b1-h4-s512-d64), emulated/naive 1.8e7 (b1-h1-s128-d64). They ran
  // on two cores that twenty processes shared (AMD EPYC, 2026-11-22).
  constexpr double host = 4e8, emulated = 4e6;
  return device.starts_with("emulated:") ? emulated : host;
}

double multiply_adds(const Problem& problem) {
  return static_cast<double>(problem.batch) * static_cast<double>(problem.heads_q) *
         static_cast<double>(problem.seq_q) * static_cast<double>(problem.seq_kv) *
         static_cast<double>(problem.head_dim_qk + problem.head_dim_vo);
}

std::chrono::milliseconds time_limit(const Problem& problem, std::string_view device,
                                     int timed_repetitions) {
  const double calls = timed_repetitions > 0 ? timed_repetitions + 4.0 : 1.0;
  // Longer than any user waits, and within the range of a clock.
  constexpr double max_seconds = 30.0 * 24 * 3600;
  const double seconds =
      std::min(calls * multiply_adds(problem) / slowest_rate(device), max_seconds);
  return min_time_limit + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace plumbline
