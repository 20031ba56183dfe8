// Drives one run: judges, stores and confirms each outcome, then judges suites and finds changes.
#include "harness/run/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "harness/base/harness_failure.h"
#include "harness/contract/reviewed_text.h"
#include "harness/measure/late_crash.h"
#include "harness/run/confirmation.h"
#include "harness/run/run_result.h"
#include "harness/store/machine.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

std::array<std::string, 3> invariance_name(const InvarianceOutcome& outcome) {
  return {outcome.suite, outcome.case_id, std::string(name(outcome.invariance))};
}

// Returns the cases of a plan and the sides of its diffs, by suite and case id.
std::map<std::pair<std::string, std::string>, const PlannedCase*> by_name(const Plan& plan) {
  std::map<std::pair<std::string, std::string>, const PlannedCase*> planned;
  for (const auto& c : plan.cases) planned[{c.suite, c.case_id}] = &c;
  for (const auto& d : plan.diffs) {
    for (const auto* side : {&d.a, &d.b}) planned.try_emplace({side->suite, side->case_id}, side);
  }
  return planned;
}

}  // namespace

RunSession::RunSession(RunInfo run, const Runner& runner, const ReviewedText& text, Store* store,
                       Store* past)
    : run_(std::move(run)), runner_(runner), text_(text), store_(store), past_store_(past) {}

void RunSession::resume(std::vector<StoredOutcome> outcomes, std::vector<StoredDiff> diffs,
                        std::vector<StoredInvariance> invariances, Plan whole) {
  resumed_ = true;
  whole_ = std::move(whole);
  outcomes_ = std::move(outcomes);
  diffs_ = std::move(diffs);
  invariances_ = std::move(invariances);
  for (const auto& stored : outcomes_) {
    taken_.insert({stored.outcome.suite, stored.outcome.case_id});
    if (const auto [past, fresh] = past_.try_emplace(stored.outcome.case_id); fresh)
      past->second = past_of(stored.outcome);
  }
  for (const auto& stored : invariances_)
    taken_invariances_.insert(invariance_name(stored.outcome));
}

Result<void> RunSession::execute(const Plan& plan, bool complete,
                                 const std::function<void()>& progress) {
  if (!resumed_) run_.planned_cases = static_cast<std::int64_t>(by_name(plan).size());
  if (store_ != nullptr && !resumed_) keep(store_->begin_run(run_));
  if (!store_errors_.empty()) return tl::unexpected(store_errors_);
  measure(plan, progress);
  if (!interrupted()) judge_run(complete);
  finished_ = finished_ && store_errors_.empty();
  if (!store_errors_.empty()) return tl::unexpected(store_errors_);
  return {};
}

void RunSession::measure(const Plan& plan, const std::function<void()>& progress) {
  if (store_ != nullptr)
    commits_.emplace(*store_, [this](const Errors& errors) { keep(tl::unexpected(errors)); });
  try {
    runner_.run(plan, {[this](Outcome o) { take(std::move(o)); },
                       [this](DiffOutcome d) { take(std::move(d)); }, progress,
                       [this](InvarianceOutcome i) { take(std::move(i)); }, &store_failed_,
                       tell_more_, [this](const LateCrash& late) { fail_suspects(late); }});
    rejudge_with_known_devices();
    confirm_regressions(resumed_ ? whole_ : plan);
    judge_times(resumed_ ? whole_ : plan);
  } catch (const HarnessFailure& failure) {
    const Errors errors = failure.errors();
    store_errors_.insert(store_errors_.end(), errors.begin(), errors.end());
    harness_failed_ = true;
  }
  commits_.reset();
}

void RunSession::judge_run(bool complete) {
  const bool is_whole = !stopped();  // read once: a signal may arrive at any time
  find_changes(complete && is_whole);
  std::vector<const Outcome*> outcomes;
  std::vector<const Baseline*> baselines, pins;
  for (const auto& stored : outcomes_) {
    if (stored.judgement.verdict == Verdict::expected_failure) continue;
    outcomes.push_back(&stored.outcome);
    const auto& past = past_[stored.outcome.case_id];
    baselines.push_back(past.baseline ? &*past.baseline : nullptr);
    pins.push_back(past.pin ? &past.pin->outcome : nullptr);
  }
  // A shard may be complete, but suites are judged only over all shards together (plumbline judge
  // RUN RUN…).
  scores_ = judge_suites(outcomes, text_.contracts, baselines,
                         complete && is_whole && run_.shard == "1/1", pins);
  finished_ = is_whole && store_errors_.empty();
  if (store_ == nullptr || !is_whole) return;
  keep(store_->add_suite_scores(run_.run_id, scores_));
  keep(store_->set_changes(run_.run_id, changes_));
  keep(store_->set_night_times(run_.run_id, night_times_));
  if (!store_failed_) keep(store_->finish_run(run_.run_id, exit_code(), complete));
}

// Cases that one shard lacks may be in another; `plumbline judge` finds the changes of all shards.
void RunSession::find_changes(bool complete) {
  std::vector<Store*> stores;
  for (Store* store : {store_, past_store_}) {
    if (store != nullptr) stores.push_back(store);
  }
  const std::vector<const RunInfo*> runs{&run_};
  const std::vector<std::string> run_of(outcomes_.size(), run_.run_id);
  auto changes = changes_of({runs, outcomes_, run_of, stores, complete});
  if (!changes) return keep(tl::unexpected(changes.error()));
  changes_ = std::move(changes->front());
}

IncompleteRuns RunSession::incomplete() const {
  IncompleteRuns incomplete;
  incomplete.add({run_, finished_}, outcomes_.size());
  return incomplete;
}

int RunSession::exit_code() const {
  return exit_code_of(state_of({outcomes_, diffs_, invariances_, scores_, changes_, night_times_,
                                finished(), has_wrong_clock(run_)}));
}

Past RunSession::past_of(const Outcome& outcome) {
  const SeriesName series = series_of(outcome, run_.machine);
  Past past;
  if (store_ != nullptr) {
    const auto lock = commits_ ? commits_->lock() : std::unique_lock<std::mutex>();
    auto own = store_->past(series, run_.run_id, outcome.timed);
    own ? static_cast<void>(past = std::move(*own)) : keep(tl::unexpected(own.error()));
  }
  if (past_store_ != nullptr) {
    const auto other = past_store_->past(series, "", outcome.timed);
    other ? static_cast<void>(past = merge_pasts(std::move(past), *other))
          : keep(tl::unexpected(other.error()));
  }
  return past;
}

Judgement RunSession::judge_with_past(const Outcome& outcome, const Past& past) const {
  // Uses the start date, so that a run resumed after midnight is judged like an uninterrupted one.
  const std::string_view day = std::string_view(run_.started_at).substr(0, 10);
  return judge(inputs_of(outcome, past, text_.contracts, text_.support, day));
}

// A worker that crashed or refused does not report its GPU. Uses the GPU that the device's other
// cases reported.
void RunSession::infer_device(Outcome& outcome) {
  if (!outcome.c.device.starts_with("cuda")) return;
  KnownDevice& known = devices_[outcome.c.device];
  if (!outcome.device.model.empty()) known.facts = outcome.device;
  if (const std::string arch = arch_of(outcome); !arch.empty()) known.arch = arch;
  if (outcome.device.model.empty()) outcome.device = known.facts;
  if (outcome.description.device_arch.empty()) outcome.description.device_arch = known.arch;
}

// Judges and stores again the cases that ended before any case had reported the device, now in
// their own series.
void RunSession::rejudge_with_known_devices() {
  for (StoredOutcome& stored : outcomes_) {
    Outcome known = stored.outcome;
    infer_device(known);
    if (known.device == stored.outcome.device &&
        known.description.device_arch == stored.outcome.description.device_arch)
      continue;
    stored.outcome = std::move(known);
    const Past& past = past_[stored.outcome.case_id] = past_of(stored.outcome);
    stored.judgement = judge_with_past(stored.outcome, past);
    store(stored);
  }
}

template <class Row>
void RunSession::store(const Row& row) {
  if (!commits_ || store_failed_) return;
  const auto lock = commits_->lock();
  if constexpr (std::is_same_v<Row, StoredInvariance>) {
    keep(store_->add_invariances(run_.run_id, {row}));
  } else {
    keep(store_->add(run_.run_id, row));
  }
  commits_->added();
}

void RunSession::take(Outcome outcome) {
  // A diff's side may also be a case of its suite; it is kept once.
  if (!taken_.insert({outcome.suite, outcome.case_id}).second) return;
  infer_device(outcome);
  const auto [past, fresh] = past_.try_emplace(outcome.case_id);
  if (fresh) past->second = past_of(outcome);
  StoredOutcome stored{std::move(outcome), {}};
  stored.judgement = judge_with_past(stored.outcome, past->second);
  store(stored);
  outcomes_.push_back(std::move(stored));
}

// Replaces the outcomes of suspects and of their diffs, which were already judged and stored.
void RunSession::fail_suspects(const LateCrash& late) {
  const auto is_suspect = [&](const std::string& suite, const std::string& case_id) {
    return std::ranges::find(late.suspects, ServedCase{suite, case_id}) != late.suspects.end();
  };
  for (StoredDiff& stored : diffs_) {
    DiffOutcome& outcome = stored.outcome;
    if (outcome.status != Status::ok ||
        (!is_suspect(outcome.suite, outcome.case_a) && !is_suspect(outcome.suite, outcome.case_b)))
      continue;
    outcome.status = Status::crashed;
    outcome.reason = late.reason();
    stored.judgement = judge_diff(outcome);
    store(stored);
  }
  for (StoredOutcome& stored : outcomes_) {
    Outcome& outcome = stored.outcome;
    if (outcome.status != Status::ok || (!is_suspect(outcome.suite, outcome.case_id) &&
                                         !is_suspect(outcome.suite, outcome.reused_from)))
      continue;
    ComparedOutput failed;  // an untrusted output has no statistics
    failed.status = Status::crashed;
    failed.reason = late.reason();
    static_cast<ComparedOutput&>(outcome) = std::move(failed);
    outcome.output_digest.clear();
    outcome.repeat_checked = outcome.repeat_equal = false;
    stored.judgement = judge_with_past(outcome, past_[outcome.case_id]);
    store(stored);
  }
}

void RunSession::take(DiffOutcome outcome) {
  StoredDiff stored{std::move(outcome), {}};
  stored.judgement = judge_diff(stored.outcome);
  store(stored);
  diffs_.push_back(std::move(stored));
}

void RunSession::take(InvarianceOutcome outcome) {
  if (!taken_invariances_.insert(invariance_name(outcome)).second) return;
  StoredInvariance stored{std::move(outcome), {}};
  stored.judgement = judge_invariance(stored.outcome);
  store(stored);
  invariances_.push_back(std::move(stored));
}

// Measures each regression of an error again in two fresh processes (confirmation.h).
void RunSession::confirm_regressions(const Plan& plan) {
  const auto planned = by_name(plan);
  for (auto& stored : outcomes_) {
    if (stored.judgement.verdict != Verdict::regressed ||
        stored.judgement.confirmation == Confirmation::confirmed || stopped())
      continue;
    const auto found = planned.find({stored.outcome.suite, stored.outcome.case_id});
    if (found == planned.end()) continue;
    std::array<StoredOutcome, 2> again;
    for (auto& fresh : again) {
      fresh.outcome = runner_.run_fresh(*found->second);
      infer_device(fresh.outcome);
      fresh.judgement = judge_with_past(fresh.outcome, past_[stored.outcome.case_id]);
    }
    apply_confirmation(stored, std::move(again));
    store(stored);
  }
}

// Returns the spread of one measurement (floor_of_spread), from this machine class's second ratios
// in both databases.
double RunSession::min_spread(const MachineClass& machine) {
  std::vector<double> ratios;
  for (Store* store : {store_, past_store_}) {
    if (store == nullptr) continue;
    const auto lock =
        commits_ && store == store_ ? commits_->lock() : std::unique_lock<std::mutex>();
    auto known = store->second_ratios(machine);
    if (!known) {
      keep(tl::unexpected(known.error()));
      continue;
    }
    ratios.insert(ratios.end(), known->begin(), known->end());
  }
  return floor_of_spread(ratios);
}

void RunSession::judge_times(const Plan& plan) {
  if (stopped()) return;
  const auto planned = by_name(plan);
  NightTimesInput input;
  for (auto& stored : outcomes_) {
    const Past& past = past_[stored.outcome.case_id];
    const auto at = planned.find({stored.outcome.suite, stored.outcome.case_id});
    input.cases.push_back({&stored, &past, series_of(stored.outcome, run_.machine).machine,
                           at == planned.end() ? nullptr : at->second});
    // The interrupted run may already have judged this time.
    if (resumed_ && stored.outcome.timed && stored.judgement.gated_time)
      stored.judgement = judge_with_past(stored.outcome, past);
  }
  input.today = run_.started_at.substr(0, 10);
  input.draw = run_.night_id.empty() ? run_.run_id : run_.night_id;
  input.min_spread = [this](const MachineClass& machine) { return min_spread(machine); };
  input.measure = [this](const std::vector<const PlannedCase*>& cases, std::string_view why) {
    const auto progress = [&](std::size_t done, std::size_t rounds, const PlannedCase& next) {
      if (tell_more_)
        tell_more_(fmt::format("{} [round {} of {}]: {}", why, done + 1, rounds, next.case_id));
    };
    std::vector<std::optional<Outcome>> well(cases.size());
    std::vector<Outcome> outcomes = runner_.time_fresh(cases, progress);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (outcomes[i].status == Status::ok) well[i] = std::move(outcomes[i]);
    }
    return well;
  };
  input.settled = [this](const TimedCase& timed) { store(*timed.stored); };
  if (store_ != nullptr && !run_.night_id.empty()) {
    input.event = [this](NightEventKind kind, const std::string& detail) {
      const auto lock = commits_ ? commits_->lock() : std::unique_lock<std::mutex>();
      keep(store_->add(NightEvent{run_.night_id, kind, iso_time(std::chrono::system_clock::now()),
                                  run_.host, detail}));
    };
  }
  night_times_ = judge_night_times(input);
}

void RunSession::mark_not_stored(const Errors& errors) {
  store_errors_.insert(store_errors_.end(), errors.begin(), errors.end());
  finished_ = false;
}

void RunSession::keep(Result<void> result) {
  if (result) return;
  store_errors_.insert(store_errors_.end(), result.error().begin(), result.error().end());
  // The store drops a row that it refuses and keeps the others. A store that fails keeps its rows
  // and fails again.
  if (store_ != nullptr && !store_->flush()) store_failed_ = true;
}

}  // namespace plumbline
