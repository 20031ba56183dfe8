// Times a kernel and the sentinel in turn with Google Benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plumbline {

struct TimesInTurn {
  std::vector<double> kernel_ns, sentinel_ns;  // per call; entry i of both was measured one after the other
};

// `run` makes that many calls and waits for them; it may throw. One repetition lasts about 15 ms, or one call where that takes longer.
TimesInTurn time_in_turn(const std::function<void(std::int64_t calls)>& run, int repetitions);

}  // namespace plumbline
