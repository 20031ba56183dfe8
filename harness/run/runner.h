// Runs a plan: untimed work on several threads, then timed cases one at a time and in rounds
// (timed_rounds.h), with nothing else running.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/measure/providers.h"
#include "harness/outcome/invariance.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {

class Contracts;
struct DiffOutcome;
struct InvarianceOutcome;
struct LateCrash;
struct Outcome;

struct RunSinks {
  // Called from one thread at a time, in the order in which work is finished.
  std::function<void(Outcome)> outcome;
  std::function<void(DiffOutcome)> diff;
  // Called after each case or diff of the plan; for timed ones, after each of their rounds.
  std::function<void()> progress;
  std::function<void(InvarianceOutcome)> invariance = nullptr;
  // Set by a sink that accepts no more; no new work is started then.
  const std::atomic<bool>* full = nullptr;
  // Reports measurements beyond the plan.
  std::function<void(const std::string&)> more = nullptr;
  // Reports late crashes. Their suspects were passed to `outcome` before, and fail after all.
  std::function<void(const LateCrash&)> late = nullptr;
};

using FreshProgress =
    std::function<void(std::size_t done, std::size_t rounds, const PlannedCase& next)>;

struct Runner {
  const MeasureOptions& options;
  const std::vector<ProviderInfo>& providers;
  const Contracts& contracts;
  int jobs = 2;
  // Set by a signal handler; no new work is started then.
  const std::atomic<bool>* stop = nullptr;
  // Measured for every case that ran successfully on this machine, but neither for reused outcomes
  // nor for sides of diffs.
  std::vector<Invariance> invariances = {};
  // The sentinel's pace in the run's timed cases; time_fresh also uses it.
  std::shared_ptr<SentinelPace> pace = std::make_shared<SentinelPace>();

  // All functions throw HarnessFailure if plumbline itself cannot continue. What the sinks received
  // before stays valid.
  void run(const Plan& plan, const RunSinks& sinks) const;
  // Measures one case in fresh worker processes, to confirm a regression.
  Outcome run_fresh(const PlannedCase& planned) const;
  // Times cases as run() does: in all rounds, each in a fresh worker process, every case once
  // before any is measured again. A case may be listed several times. Only status, reason and times
  // of the outcomes are filled; status is error if the run was stopped. Used to confirm timing
  // findings and for second measurements. `progress(done, rounds, case)` is called before each
  // round; `rounds` is the number of rounds known to be needed so far.
  std::vector<Outcome> time_fresh(const std::vector<const PlannedCase*>& cases,
                                  const FreshProgress& progress = nullptr) const;
};

}  // namespace plumbline
