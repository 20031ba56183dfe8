// How long a worker may take over one request, from the work that the request asks for.
#pragma once

#include <chrono>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

// What every request gets, whatever it asks: starting a framework, compiling a kernel, a loaded
// machine.
inline constexpr std::chrono::seconds least_time_limit{60};

// Multiply-adds a second that no kernel of this device falls short of. `cpu` serves libraries and
// Python files alike, cuda:N as well.
double slowest_rate(std::string_view device);

// batch * heads_q * seq_q * seq_kv * (head_dim_qk + head_dim_vo): as if no mask or length spared a
// kernel anything.
double multiply_adds(const Problem& problem);

// least_time_limit + calls * multiply_adds(problem) / slowest_rate(device); calls are 1 untimed;
// timed one a repetition, and 4: the first, two that calibrate, one that measures memory.
std::chrono::milliseconds time_limit(const Problem& problem, std::string_view device,
                                     int timed_repetitions);

}  // namespace plumbline
