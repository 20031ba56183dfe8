// Runs a plan: untimed work on several threads, then timed cases one at a time and in rounds
// (timed_rounds.h). Nothing else of the run is then at work.
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
  // After each case or diff of the plan, of timed ones after each of their rounds.
  std::function<void()> progress;
  std::function<void(InvarianceOutcome)> invariance = nullptr;
  // Set by a sink that can take no more: no new work is started.
  const std::atomic<bool>* full = nullptr;
  // Says what is measured beyond the plan.
  std::function<void(const std::string&)> more = nullptr;
  // Cases that were handed on before, and fail for what they left running.
  std::function<void(const LateCrash&)> late = nullptr;
};

using FreshProgress =
    std::function<void(std::size_t done, std::size_t rounds, const PlannedCase& next)>;

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

  // All functions here throw HarnessFailure where plumbline itself cannot go on; what was handed to
  // the sinks before stays.
  void run(const Plan& plan, const RunSinks& sinks) const;
  // One case in fresh worker processes: confirmation of a regression.
  Outcome run_fresh(const PlannedCase& planned) const;
  // The times of cases, measured as a plan measures them: in all rounds, each in a fresh worker
  // process, every case once before any is measured again. The same case may be named several
  // times. Of the outcomes only status, reason and times are filled; status is error where it was
  // stopped. For the confirmation of findings of time, and for second measurements.
  // `progress(done, rounds, case)` comes before each round; rounds are those that are known to be
  // needed.
  std::vector<Outcome> time_fresh(const std::vector<const PlannedCase*>& cases,
                                  const FreshProgress& progress = nullptr) const;
};

}  // namespace plumbline
