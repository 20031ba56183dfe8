// Implements `plumbline run --resume`: which unfinished run is continued, and what is left of its
// plan.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/run_session.h"
#include "harness/run/runner.h"

namespace plumbline {

// Everything that a run's verdicts depend on, by name: programs, providers and reviewed text as
// digests of their bytes, the plan as digest and size, options as values. Stored with the run and
// compared when it is resumed.
using RunFacts = std::map<std::string, std::string>;
RunFacts run_facts(const RunInfo& run, const Plan& plan, const Runner& runner,
                   const std::filesystem::path& reviewed_directory);
void store_facts(RunInfo& run, const RunFacts& facts);  // in versions_json

// Returns the newest unfinished run with the same facts. Errors: there is none; the error then
// lists the differences from the newest unfinished run.
Result<RunInfo> run_to_resume(Store& store, const RunFacts& facts);

// The rows that a run stored before it was interrupted.
struct StoredPart {
  std::vector<StoredOutcome> outcomes;
  std::vector<StoredDiff> diffs;
  std::vector<StoredInvariance> invariances;
};
Result<StoredPart> read_part(Store& store, const std::string& run_id);

// Returns the plan without what is stored. The untimed cases of a problem are removed together or
// not at all: some reuse another's outcome, so only all of them together give the outcomes of an
// uninterrupted run.
Plan remaining(const Plan& plan, const StoredPart& stored,
               const std::vector<Invariance>& invariances);

// Held while a process measures a run, and released however the process ends. Prevents two
// processes from resuming one run.
class RunLock {
 public:
  // Error: another process of this machine (and network namespace) is measuring the run.
  static Result<std::unique_ptr<RunLock>> claim(const std::string& run_id);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace plumbline
