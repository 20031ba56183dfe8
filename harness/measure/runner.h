// Runs a plan: untimed work on `jobs` threads, then timed cases one at a time on an otherwise idle machine.
#pragma once

#include <atomic>
#include <functional>

#include "harness/measure/measurer.h"

namespace plumbline {

struct RunSinks {
  // Called from one thread at a time, in the order in which work is finished.
  std::function<void(Outcome)> outcome;
  std::function<void(DiffOutcome)> diff;
  // After each case or diff of the plan.
  std::function<void()> progress;
};

struct Runner {
  const MeasureOptions& options;
  const std::vector<ProviderInfo>& providers;
  const Contracts& contracts;
  int jobs = 2;
  // Set by a signal handler: no new work is started.
  const std::atomic<bool>* stop = nullptr;

  void run(const Plan& plan, const RunSinks& sinks) const;
  // One case in a fresh worker process: confirmation of a regression.
  Outcome run_fresh(const PlannedCase& planned) const;
};

}  // namespace plumbline
