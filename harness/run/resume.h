// `plumbline run --resume`: which unfinished run is continued, and what is left of its plan.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/run_session.h"
#include "harness/run/runner.h"

namespace plumbline {

// Everything that a verdict of a run rests on, by name: programs, providers and reviewed text by
// digest of their bytes, the plan by digest and size, options by value. Stored with the run,
// compared when it is resumed.
using RunFacts = std::map<std::string, std::string>;
RunFacts run_facts(const RunInfo& run, const Plan& plan, const Runner& runner,
                   const std::filesystem::path& reviewed_directory);
void store_facts(RunInfo& run, const RunFacts& facts);  // in versions_json

// The newest unfinished run of the same facts. Errors: there is none; or it says in what the newest
// unfinished one differs.
Result<RunInfo> run_to_resume(Store& store, const RunFacts& facts);

// What a run stored before it was interrupted.
struct StoredPart {
  std::vector<StoredOutcome> outcomes;
  std::vector<StoredDiff> diffs;
  std::vector<StoredInvariance> invariances;
};
Result<StoredPart> read_part(Store& store, const std::string& run_id);

// The plan without what is stored. The untimed cases of a problem are left out all or none: some
// take over another's outcome, and all of them measured together make the same outcomes as in an
// undisturbed run.
Plan remaining(const Plan& plan, const StoredPart& stored,
               const std::vector<Invariance>& invariances);

// Held while a process measures a run, gone with it however it ends: two that resume one run at
// once would measure everything twice.
class RunOwner {
 public:
  // An error where a process of this machine (and network namespace) measures the run.
  static Result<std::unique_ptr<RunOwner>> claim(const std::string& run_id);
  ~RunOwner();
  RunOwner(const RunOwner&) = delete;
  RunOwner& operator=(const RunOwner&) = delete;

 private:
  explicit RunOwner(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace plumbline
