// Measures cases: inputs, worker, reference, statistics, faults, timing. One Measurer is driven by
// one thread and owns one worker process a provider.
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

// A round of times without a judgement of the output.
struct RoundAlone {
  Status status = Status::error;
  std::string reason;         // always filled unless ok
  TimeRound round;            // only where ok
  std::string output_digest;  // likewise: of what the last timed call left
};

class Measurer {
 public:
  // All three arguments must outlive the Measurer.
  Measurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
           const Contracts& contracts);
  Measurer(const MeasureOptions&&, const std::vector<ProviderInfo>&, const Contracts&) = delete;

  // Measures cases that share one problem; inputs and references are made once. Calls `done` after
  // each. A kernel without tensor cores is measured on two emulated architectures, which must
  // agree, and not on the others (reuse.h). A timed case gets a fresh worker process, and one round
  // of times (time_rounds.h).
  void measure(const std::vector<const PlannedCase*>& cases,
               const std::function<void(Measurement)>& done);
  // Both sides, then their difference.
  DiffOutcome measure(const PlannedDiff& diff, const std::function<void(Measurement)>& done);
  // Another round of times of a case, in a fresh worker process. Never fails: what happens is the
  // status. `pace_ns` is that of the sentinel as far as it is known (SentinelPace), else 0:
  // repetitions wait for it.
  RoundAlone time_alone(const PlannedCase& planned, double pace_ns = 0);
  // Call it behind the last case: waits a tenth of a second for what calls left running, and says
  // which processes ended or wrote to their inputs since. Those that time_alone met come first.
  std::vector<LateCrash> finish();

 private:
  struct ProblemState;
  Result<Worker*> worker_for(const std::string& kernel);
  // The kernel's next request meets a process that has done nothing yet, and an empty arena.
  void start_afresh(const std::string& kernel, ProblemState& state);
  Result<RunRequest> place_inputs(const std::string& kernel, ProblemState& state,
                                  Worker& worker) const;
  RunRequest request_for(const PlannedCase& planned, RunRequest placed) const;
  // A crash that a fresh process does not repeat is none of this case (late_crash.h).
  Measurement measure_case(const PlannedCase& planned, ProblemState& state);
  void note_served(const PlannedCase& planned, Status status);
  // What happened to the worker since its last case; nothing if that is nothing.
  std::optional<LateCrash> crash_since_last_case(const std::string& kernel, ProblemState& state);
  Measurement measure_once(const PlannedCase& planned, ProblemState& state);
  // Names who crashed: of the cases that the provider's process had served.
  LateCrash find_suspects(LateCrash late, const ServedCases& served, ProblemState& state);
  bool crashes_after_its_call(const PlannedCase& suspect);
  void run_kernel(const PlannedCase& planned, ProblemState& state, Worker& worker, Outcome& outcome,
                  Measurement& measurement);
  void judge_outputs(ProblemState& state, Worker& worker, const RunRequest& request,
                     Measurement& measurement);
  std::shared_ptr<const Reference> reference(ProblemState& state, const RoundingSpec& spec,
                                             const InputView& inputs, bool suite_scores,
                                             bool further_rows);

  const MeasureOptions& options_;
  const std::vector<ProviderInfo>& providers_;
  const Contracts& contracts_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by provider name
  std::map<std::string, ServedCases> served_;               // by the worker that is there now
  std::vector<LateCrash> unclaimed_;                        // found by time_alone, for finish()
};

// Compares two measured cases row by row (harness/suite/suite.h says which rows correspond).
DiffOutcome compare_measurements(const PlannedDiff& diff, const Measurement& a,
                                 const Measurement& b);

}  // namespace plumbline
