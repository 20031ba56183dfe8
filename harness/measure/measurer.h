// Measures cases: inputs, worker, reference, statistics, faults, timing. A Measurer is used by one
// thread and owns one worker process for each provider.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/late_crash.h"
#include "harness/measure/providers.h"
#include "harness/outcome/times.h"

namespace plumbline {

class Contracts;
struct DiffOutcome;
struct InputView;
struct Measurement;
struct Outcome;
struct Reference;

// One timing round; the output is not judged.
struct RoundResult {
  Status status = Status::error;
  std::string reason;  // empty only if ok
  TimeRound round;     // filled only if ok
  // Digest of the last timed call's output; filled only if ok.
  std::string output_digest;
};

class Measurer {
 public:
  // All three arguments must outlive the Measurer.
  Measurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
           const Contracts& contracts);
  Measurer(const MeasureOptions&&, const std::vector<ProviderInfo>&, const Contracts&) = delete;

  // Measures cases that share one problem; inputs and references are computed once. Calls `done`
  // after each case. A kernel without tensor cores is measured on two emulated architectures, which
  // must agree; the others reuse the outcome (reuse.h). A timed case gets a fresh worker process
  // and one timing round (time_rounds.h).
  void measure(const std::vector<const PlannedCase*>& cases,
               const std::function<void(Measurement)>& done);
  // Measures both sides, then compares them.
  DiffOutcome measure(const PlannedDiff& diff, const std::function<void(Measurement)>& done);
  // Measures one more timing round in a fresh worker process. Errors are returned in `status`.
  // Repetitions wait until the sentinel keeps its pace, `pace_ns` (SentinelPace); 0 = unknown.
  RoundResult measure_round(const PlannedCase& planned, double pace_ns = 0);
  // Call this after the last case. Waits a tenth of a second for work that calls left running.
  // Returns the late crashes that measure_round found, then those since each provider's last case.
  std::vector<LateCrash> finish();

 private:
  struct ProblemState;
  Result<Worker*> worker_for(const std::string& kernel);
  // Drops the kernel's worker, so that its next request starts a fresh process with an empty arena.
  void restart_worker(const std::string& kernel, ProblemState& state);
  Result<RunRequest> place_inputs(const std::string& kernel, ProblemState& state,
                                  Worker& worker) const;
  RunRequest request_for(const PlannedCase& planned, RunRequest placed) const;
  // Measures a case. A crash that does not repeat in a fresh process is not this case's fault
  // (late_crash.h).
  Measurement measure_case(const PlannedCase& planned, ProblemState& state);
  void record_served(const PlannedCase& planned, Status status);
  // Returns what happened to the worker since its last case; nullopt if nothing did.
  std::optional<LateCrash> crash_since_last_case(const std::string& kernel, ProblemState& state);
  Measurement measure_once(const PlannedCase& planned, ProblemState& state);
  // Reruns the cases that the process had served, to find the one that causes the crash.
  LateCrash find_suspects(LateCrash late, const ServedCases& served, ProblemState& state);
  bool crashes_alone(const PlannedCase& suspect);
  void run_kernel(const PlannedCase& planned, ProblemState& state, Worker& worker, Outcome& outcome,
                  Measurement& measurement);
  void compare_outputs(ProblemState& state, Worker& worker, const RunRequest& request,
                       Measurement& measurement);
  std::shared_ptr<const Reference> reference(ProblemState& state, const RoundingSpec& spec,
                                             const InputView& inputs, bool suite_scores,
                                             bool further_rows);

  const MeasureOptions& options_;
  const std::vector<ProviderInfo>& providers_;
  const Contracts& contracts_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by provider name
  std::map<std::string, ServedCases> served_;  // by provider name; of the current worker
  std::vector<LateCrash> round_crashes_;       // found by measure_round, for finish()
};

// Compares two measured cases row by row. harness/suite/suite.h defines which rows correspond.
DiffOutcome compare_measurements(const PlannedDiff& diff, const Measurement& a,
                                 const Measurement& b);

}  // namespace plumbline
