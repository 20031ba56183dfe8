// Progress on stderr: on a terminal one line that is rewritten, otherwise a line every ten seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline::cli {

// Estimates the time left for untimed steps of equal duration, in any order, and then for timed
// steps of known relative costs, in the order of the plan.
class RemainingTime {
 public:
  explicit RemainingTime(std::size_t untimed_steps, std::vector<double> timed_costs = {});
  // Records that the next step was done `seconds` after the start.
  void step(double seconds);
  std::size_t done() const { return done_; }
  std::size_t total() const { return untimed_steps_ + timed_.size(); }
  // Returns the seconds left at the pace so far. Until the first timed step is done, a cost of 1
  // counts as a second.
  double seconds_left() const;

 private:
  std::size_t untimed_steps_, done_ = 0;
  std::vector<double> timed_;
  double untimed_seconds_ = 0, seconds_ = 0;
};

// Returns the estimate for a plan: its untimed steps, and a timed step for each round. The cost of
// a timed step follows from the repetitions and the multiply-adds of a call.
RemainingTime remaining_time(const Plan& plan, int repetitions);

class Progress {
 public:
  Progress(std::size_t total, bool quiet) : Progress(RemainingTime(total), quiet) {}
  Progress(RemainingTime remaining, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();
  // Prints what is measured in addition to the plan.
  void tell(const std::string& what);

 private:
  void print();

  using Clock = std::chrono::steady_clock;
  RemainingTime remaining_;
  bool quiet_, terminal_, printed_ = false;
  Clock::time_point start_, last_;
};

}  // namespace plumbline::cli
