#include "harness/cli/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline::cli {
namespace {

constexpr std::string_view confirmed = "confirmed in two fresh processes";

bool is_confirmed(const Judgement& judgement) {
  return std::find(judgement.notes.begin(), judgement.notes.end(), confirmed) != judgement.notes.end();
}

std::array<std::string, 3> invariance_name(const InvarianceOutcome& outcome) {
  return {outcome.suite, outcome.case_id, std::string(name(outcome.invariance))};
}

}  // namespace

RunSession::RunSession(RunInfo run, const Runner& runner, const ReviewedText& text, Store* store)
    : run_(std::move(run)), runner_(runner), text_(text), store_(store) {}

void RunSession::resume(std::vector<StoredOutcome> outcomes, std::vector<StoredDiff> diffs, std::vector<StoredInvariance> invariances) {
  resumed_ = true;
  outcomes_ = std::move(outcomes);
  diffs_ = std::move(diffs);
  invariances_ = std::move(invariances);
  for (const auto& stored : outcomes_) {
    taken_.insert({stored.outcome.suite, stored.outcome.case_id});
    if (const auto [past, fresh] = past_.try_emplace(stored.outcome.case_id); fresh) past->second = past_of(stored.outcome.case_id);
  }
  for (const auto& stored : invariances_) taken_invariances_.insert(invariance_name(stored.outcome));
}

Result<void> RunSession::execute(const Plan& plan, bool complete, const std::function<void()>& progress) {
  if (store_ != nullptr && !resumed_) keep(store_->begin_run(run_));
  if (!store_errors_.empty()) return tl::unexpected(store_errors_);
  measure(plan, progress);
  if (!store_failed_) judge_run(complete);
  if (!store_errors_.empty()) return tl::unexpected(store_errors_);
  return {};
}

void RunSession::measure(const Plan& plan, const std::function<void()>& progress) {
  if (store_ != nullptr) commits_.emplace(*store_, [this](const Errors& errors) { keep(tl::unexpected(errors)); });
  runner_.run(plan, {[this](Outcome o) { take(std::move(o)); }, [this](DiffOutcome d) { take(std::move(d)); }, progress,
                     [this](InvarianceOutcome i) { take(std::move(i)); }, &store_failed_});
  confirm_regressions(plan);
  commits_.reset();
}

void RunSession::judge_run(bool complete) {
  std::vector<const Outcome*> outcomes;
  std::vector<const Baseline*> baselines;
  for (const auto& stored : outcomes_) {
    if (stored.judgement.verdict == Verdict::expected_failure) continue;
    outcomes.push_back(&stored.outcome);
    const auto& past = past_[stored.outcome.case_id];
    baselines.push_back(past.baseline ? &*past.baseline : nullptr);
  }
  // A shard is complete in itself, and judged over its suites only together with the others (plumbline judge RUN RUN…).
  scores_ = judge_suites(outcomes, text_.contracts, baselines, complete && !stopped() && run_.shard == "1/1");
  if (store_ == nullptr || stopped()) return;
  keep(store_->add_suite_scores(run_.run_id, scores_));
  if (!store_failed_) keep(store_->finish_run(run_.run_id, exit_code(), complete));
}

int RunSession::exit_code() const {
  std::vector<Verdict> verdicts;
  for (const auto& stored : outcomes_) verdicts.push_back(stored.judgement.verdict);
  for (const auto& stored : diffs_) verdicts.push_back(stored.judgement.verdict);
  for (const auto& stored : invariances_) verdicts.push_back(stored.judgement.verdict);
  return plumbline::exit_code(verdicts, scores_);
}

RunSession::Past RunSession::past_of(const std::string& case_id) {
  Past past;
  if (store_ == nullptr) return past;
  const auto lock = commits_ ? commits_->lock() : std::unique_lock<std::mutex>();
  if (auto baseline = store_->baseline(case_id, run_.machine, run_.run_id)) {
    past.baseline = std::move(*baseline);
  } else {
    keep(tl::unexpected(baseline.error()));
  }
  if (auto times = store_->time_history(case_id, run_.machine, run_.run_id)) {
    past.times = std::move(*times);
  } else {
    keep(tl::unexpected(times.error()));
  }
  return past;
}

Judgement RunSession::judge_with_past(const Outcome& outcome, const Past& past) const {
  // By the day on which it was begun: a run that is resumed after midnight is judged as an undisturbed one.
  const std::string_view day = std::string_view(run_.started_at).substr(0, 10);
  return judge({&outcome, &text_.contracts, &text_.support, past.baseline ? &*past.baseline : nullptr, &past.times, day});
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
  // The side of a diff may be a case of its suite, too: it is kept once.
  if (!taken_.insert({outcome.suite, outcome.case_id}).second) return;
  const auto [past, fresh] = past_.try_emplace(outcome.case_id);
  if (fresh) past->second = past_of(outcome.case_id);
  StoredOutcome stored{std::move(outcome), {}};
  stored.judgement = judge_with_past(stored.outcome, past->second);
  store(stored);
  outcomes_.push_back(std::move(stored));
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

// A regression must show again in fresh processes (JUDGING: confirmed in a fresh process). Two are asked: if both agree that there is none,
// the first was noise; if they disagree, the case is ambiguous. Any other failure there is what the case is.
void RunSession::confirm_regressions(const Plan& plan) {
  std::map<std::pair<std::string, std::string>, const PlannedCase*> planned;
  for (const auto& c : plan.cases) planned[{c.suite, c.case_id}] = &c;
  for (const auto& d : plan.diffs) {
    for (const auto* side : {&d.a, &d.b}) planned.try_emplace({side->suite, side->case_id}, side);
  }
  for (auto& stored : outcomes_) {
    if (stored.judgement.verdict != Verdict::regressed || is_confirmed(stored.judgement) || stopped()) continue;
    const auto found = planned.find({stored.outcome.suite, stored.outcome.case_id});
    if (found == planned.end()) continue;
    std::array<StoredOutcome, 2> again;
    for (auto& fresh : again) {
      fresh.outcome = runner_.run_fresh(*found->second);
      fresh.judgement = judge_with_past(fresh.outcome, past_[stored.outcome.case_id]);
    }
    const auto failures = std::count_if(again.begin(), again.end(), [](const auto& fresh) { return is_failure(fresh.judgement.verdict); });
    if (failures == 2) {
      if (again[0].judgement.verdict != Verdict::regressed) stored = std::move(again[0]);
      stored.judgement.notes.emplace_back(confirmed);
    } else if (failures == 0) {
      stored = std::move(again[0]);
      stored.judgement.notes.push_back("looked like a regression at first; two fresh processes say it is none");
    } else {
      stored.judgement.verdict = Verdict::ambiguous;
      stored.judgement.notes.push_back("two fresh processes disagree");
    }
    store(stored);
  }
}

void RunSession::keep(Result<void> result) {
  if (result) return;
  store_errors_.insert(store_errors_.end(), result.error().begin(), result.error().end());
  // A row that is refused is gone and the others go on; a store that fails keeps its rows and fails again.
  if (store_ != nullptr && !store_->flush()) store_failed_ = true;
}

}  // namespace plumbline::cli
