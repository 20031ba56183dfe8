// Runs a plan: untimed work on several threads, then timed cases one at a time and in rounds
// (timed_rounds.h). Nothing else of the run is then at work.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "harness/measure/providers.h"
#include "harness/measure/time_rounds.h"
#include "harness/outcome/invariance.h"

namespace plumbline {

class Contracts;
struct DiffOutcome;
struct InvarianceOutcome;
struct Outcome;

struct RunSinks {
  // Called from one thread at a time, in the order in which work is finished.
  std::function<void(Outcome)> outcome;
  std::function<void(DiffOutcome)> diff;
  // After each case or diff of the plan, of timed ones after each of their rounds.
  std::function<void()> progress;
  std::function<void(InvarianceOutcome)> invariance = nullptr;
  // Set by a sink that can take no more: no new work is started.
  const std::atomic<bool>* full = nullptr;
};

struct Runner {
  const MeasureOptions& options;
  const std::vector<ProviderInfo>& providers;
  const Contracts& contracts;
  int jobs = 2;
  // Set by a signal handler: no new work is started.
  const std::atomic<bool>* stop = nullptr;
  // Measured of every case that ran well itself, on this machine and not taken over from another
  // architecture; the sides of a diff excepted.
  std::vector<Invariance> invariances = {};
  // What the timed cases of the run have shown so far, for time_fresh too.
  std::shared_ptr<SentinelPace> pace = std::make_shared<SentinelPace>();

  void run(const Plan& plan, const RunSinks& sinks) const;
  // One case in fresh worker processes: confirmation of a regression.
  Outcome run_fresh(const PlannedCase& planned) const;
  // The times of one case, measured as a plan measures them: in all rounds, each in a fresh worker
  // process. Of the outcome only status, reason and times are filled. For the confirmation of a
  // finding of time, and for second measurements.
  Outcome time_fresh(const PlannedCase& planned) const;
};

}  // namespace plumbline
