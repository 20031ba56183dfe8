// Measures cases: inputs, worker, reference, statistics, faults, timing. One Measurer is driven by
// one thread and owns one worker process a provider.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/contract.h"
#include "harness/measure/causes.h"
#include "harness/measure/statistics.h"
#include "harness/outcome/outcome.h"
#include "harness/provider/client/worker.h"
#include "harness/suite/plan.h"

namespace plumbline {

struct MeasureOptions {
  std::vector<std::string>
      providers;  // "path/to/lib.so[:options]"; of two with one name the later wins
  std::filesystem::path worker_executable;  // empty: found beside the program
  // of one request; none: as its work asks (time_limit.h)
  std::optional<std::chrono::milliseconds> timeout;
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;
  double reference_cost_limit = 1e9;                          // see select_rows
  std::filesystem::path reference_cache;                      // empty: none
  std::shared_ptr<const ReferenceLibrary> reference_library;  // null: on the CPU
  std::filesystem::path save_failures;                        // empty: none
  std::shared_ptr<CauseBudget> causes;  // of failures are looked for within it; null: none are
  std::filesystem::path save_outputs;   // of every measured case; empty: none
  int time_repetitions = 10;
};

// The providers of a run and the kernels each offers.
struct ProviderInfo {
  std::string library;  // as given
  Hello hello;
};
// How long a worker may take over one request of these options.
std::chrono::milliseconds timeout_of(const MeasureOptions& options, const Case& c,
                                     int timed_repetitions);
// Options of a provider's worker.
WorkerOptions worker_options(const MeasureOptions& options, const std::string& provider);
// Starts each provider once to ask its name and kernels.
Result<std::vector<ProviderInfo>> discover(const MeasureOptions& options);
std::vector<OfferedKernel> offered_kernels(const std::vector<ProviderInfo>& providers);
// The CUDA devices that loaded providers name as theirs (where none does and there is a driver,
// "cuda:0" to "cuda:7" may be there), and the providers that have no kernel because they lack a
// library.
Surroundings surroundings(const std::vector<ProviderInfo>& providers);

// What is kept of a case beyond its outcome, for comparing two of them.
struct Measurement {
  Outcome outcome;
  std::shared_ptr<const Geometry> geometry;
  // null unless status is ok and the case itself was measured
  std::shared_ptr<const Reference> reference;
  std::vector<double> rows;  // the output at the reference's rows, [R, D]
};

class Measurer {
 public:
  Measurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
           const Contracts& contracts);

  // Measures cases that share one problem; inputs and references are made once. Calls `done` after
  // each. A kernel without tensor cores is measured on two emulated architectures, which must
  // agree, and not on the others (reuse.h).
  void measure(const std::vector<const PlannedCase*>& cases,
               const std::function<void(Measurement)>& done);
  // Both sides, then their difference.
  DiffOutcome measure(const PlannedDiff& diff, const std::function<void(Measurement)>& done);

 private:
  struct ProblemState;
  Result<Worker*> worker_for(const std::string& kernel);
  Measurement measure_case(const PlannedCase& planned, ProblemState& state);
  void run_kernel(const PlannedCase& planned, ProblemState& state, Worker& worker, Outcome& outcome,
                  Measurement& measurement);
  void judge_outputs(ProblemState& state, Worker& worker, const RunRequest& request,
                     Measurement& measurement);
  std::shared_ptr<const Reference> reference(ProblemState& state, const RoundingSpec& spec,
                                             const InputView& inputs, bool suite_scores);

  const MeasureOptions& options_;
  const std::vector<ProviderInfo>& providers_;
  const Contracts& contracts_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by provider name
};

// Compares two measured cases row by row (harness/suite/suite.h says which rows correspond).
DiffOutcome compare_measurements(const PlannedDiff& diff, const Measurement& a,
                                 const Measurement& b);

}  // namespace plumbline
