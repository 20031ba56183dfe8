// One run from plan to exit code: measures, judges, stores, confirms regressions and judges the
// suites. Shared by `plumbline run` and the CTest program.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/run/night_times.h"
#include "harness/run/runner.h"
#include "harness/store/prompt_commits.h"
#include "harness/store/store.h"
#include "harness/store/stored.h"

namespace plumbline {

struct ReviewedText;

class RunSession {
 public:
  // If `store` is null, nothing is stored. `past`, which may be null, is a read-only database whose
  // runs also count as history. If both are null, nothing is compared with earlier runs.
  RunSession(RunInfo run, const Runner& runner, const ReviewedText& text, Store* store,
             Store* past = nullptr);

  // Continues an interrupted run: stored rows are not measured again, and `execute` gets the rest
  // of the plan. `whole` is the full plan, because times of stored cases may be measured again.
  void resume(std::vector<StoredOutcome> outcomes, std::vector<StoredDiff> diffs,
              std::vector<StoredInvariance> invariances, Plan whole);

  // Measures, judges and stores the plan. Rows are committed at once, or within 20 ms if cases
  // follow each other faster, so a killed process loses no older rows. The first failed write ends
  // the measuring; what is stored stays, and the run can be resumed. `complete`: the plan is all of
  // its suites, or the shard's share of them. Suite statistics are judged only for a complete plan,
  // and not for a shard.
  Result<void> execute(const Plan& plan, bool complete, const std::function<void()>& progress);
  // Marks the run as unfinished: it turned out not to be stored, although writing reported no
  // error.
  void mark_not_stored(const Errors& errors);
  // Sets a callback for measurements beyond the plan, such as confirmations of candidates.
  void on_more(std::function<void(const std::string&)> tell) { tell_more_ = std::move(tell); }

  const std::vector<StoredOutcome>& outcomes() const { return outcomes_; }
  const std::vector<StoredDiff>& diffs() const { return diffs_; }
  const std::vector<SuiteScore>& scores() const { return scores_; }
  const std::vector<StoredInvariance>& invariances() const { return invariances_; }
  const std::vector<RunChange>& changes() const { return changes_; }
  const std::vector<NightTimes>& night_times() const { return night_times_; }
  const RunInfo& info() const { return run_; }
  // Measuring ended early because nothing could be stored or measured any more.
  bool interrupted() const { return store_failed_ || harness_failed_; }
  // plumbline itself failed (HarnessFailure). What was measured is stored.
  bool harness_failed() const { return harness_failed_; }
  // Returns true if the whole plan was measured and stored.
  bool finished() const { return finished_; }
  // Returns this run's totals if it did not finish, otherwise none.
  IncompleteRuns incomplete() const;
  int exit_code() const;

 private:
  Past past_of(const Outcome& outcome);
  Judgement judge_with_past(const Outcome& outcome, const Past& past) const;
  void infer_device(Outcome& outcome);
  void rejudge_with_known_devices();
  void find_changes(bool complete);
  void take(Outcome outcome);
  void take(DiffOutcome outcome);
  void take(InvarianceOutcome outcome);
  void fail_suspects(const LateCrash& late);
  void confirm_regressions(const Plan& plan);
  void judge_times(const Plan& plan);
  double min_spread(const MachineClass& machine);
  void keep(Result<void> result);
  void measure(const Plan& plan, const std::function<void()>& progress);
  void judge_run(bool complete);
  template <class Row>
  void store(const Row& row);
  bool stopped() const {
    return interrupted() || (runner_.stop != nullptr && runner_.stop->load());
  }

  RunInfo run_;
  const Runner& runner_;
  const ReviewedText& text_;
  Store* store_;
  Store* past_store_;
  std::vector<StoredOutcome> outcomes_;
  std::vector<StoredDiff> diffs_;
  std::vector<SuiteScore> scores_;
  std::vector<StoredInvariance> invariances_;
  std::vector<RunChange> changes_;
  std::vector<NightTimes> night_times_;
  std::function<void(const std::string&)> tell_more_;
  Plan whole_;                        // the full plan of a resumed run
  std::map<std::string, Past> past_;  // by case id
  struct KnownDevice {
    DeviceFacts facts;
    std::string arch;
  };
  std::map<std::string, KnownDevice> devices_;              // what GPUs reported, by device
  std::set<std::pair<std::string, std::string>> taken_;     // (suite, case id)
  std::set<std::array<std::string, 3>> taken_invariances_;  // (suite, case id, invariance)
  bool resumed_ = false, finished_ = false;
  std::optional<PromptCommits> commits_;  // only while measuring into a store
  std::atomic<bool> store_failed_ = false;
  bool harness_failed_ = false;
  Errors store_errors_;
};

}  // namespace plumbline
