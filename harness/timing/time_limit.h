// The time limit of a worker's request, derived from the work that it takes.
#pragma once

#include <chrono>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

// The part of every limit that covers the start of a framework, the compilation of a kernel, and a
// loaded machine.
inline constexpr std::chrono::seconds min_time_limit{60};

// Returns a rate that every kernel of the device exceeds, in multiply-adds per second. The rate of
// "cpu" also applies to cuda:N, and to libraries and Python files alike.
double slowest_rate(std::string_view device);

// Returns batch * heads_q * seq_q * seq_kv * (head_dim_qk + head_dim_vo), as if masks and lengths
// saved no work.
double multiply_adds(const Problem& problem);

// Returns min_time_limit + calls * multiply_adds(problem) / slowest_rate(device); the second term
// is at most 30 days. calls: 1 if untimed, otherwise the repetitions plus 4 (the first call, two to
// calibrate, one to measure memory).
std::chrono::milliseconds time_limit(const Problem& problem, std::string_view device,
                                     int timed_repetitions);

}  // namespace plumbline
