// Progress on stderr: one line that is rewritten on a terminal, a line every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <cstddef>

namespace plumbline::cli {

class Progress {
 public:
  Progress(std::size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();

 private:
  void print();

  using Clock = std::chrono::steady_clock;
  std::size_t total_, done_ = 0;
  bool quiet_, terminal_, printed_ = false;
  Clock::time_point start_, last_;
};

}  // namespace plumbline::cli
