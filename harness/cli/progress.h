// Progress on stderr: one line that is rewritten on a terminal, a line every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline::cli {

// Steps that follow each other at one pace, then steps whose costs are known as ratios of each
// other: untimed cases in any order, then timed ones in that of the plan.
class RemainingTime {
 public:
  explicit RemainingTime(std::size_t alike, std::vector<double> timed_costs = {});
  // The next step was done `seconds` after the start.
  void step(double seconds);
  std::size_t done() const { return done_; }
  std::size_t total() const { return alike_ + timed_.size(); }
  // Seconds left, from the pace so far. Of timed steps before the first of them: a cost is taken
  // for a second.
  double seconds_left() const;

 private:
  std::size_t alike_, done_ = 0;
  std::vector<double> timed_;
  double alike_seconds_ = 0, seconds_ = 0;
};

// How many steps a plan has that is not timed, and the expected seconds of those that are, a step
// for each of their rounds: repetitions, and the calls' multiply-adds.
RemainingTime remaining_time(const Plan& plan, int repetitions);

class Progress {
 public:
  Progress(std::size_t total, bool quiet) : Progress(RemainingTime(total), quiet) {}
  Progress(RemainingTime remaining, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();
  // Says what is measured beyond the plan.
  void tell(const std::string& what);

 private:
  void print();

  using Clock = std::chrono::steady_clock;
  RemainingTime remaining_;
  bool quiet_, terminal_, printed_ = false;
  Clock::time_point start_, last_;
};

}  // namespace plumbline::cli
