// Judges stored runs again, against the history in their database. Nothing is measured here: the
// only reruns considered are those that the database already holds.
#include "harness/run/judge_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "harness/base/attempt.h"
#include "harness/contract/reviewed_text.h"
#include "harness/judge/timing_verdict.h"
#include "harness/run/confirmation.h"
#include "harness/run/night_times.h"
#include "harness/run/open_cases.h"
#include "harness/run/run_result.h"
#include "harness/run/shards.h"
#include "harness/store/machine.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

// Returns true if the runs are exactly the shards 1/n to n/n, in any order.
bool is_complete_shard_set(const std::vector<RunInfo>& runs) {
  std::set<int> parts;
  for (const auto& run : runs) {
    const ShardNumber shard = parse_shard_number(run.shard);
    if (shard.parts != static_cast<int>(runs.size())) return false;
    parts.insert(shard.part);
  }
  return parts.size() == runs.size();
}

// Shards of two different partitions may contain one case twice and miss another.
Result<void> require_same_partition(const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    const RunInfo& first = runs.front();
    const std::string one = parse_shard_info(first.versions_json).partition;
    const std::string other = parse_shard_info(run.versions_json).partition;
    if (one == other) continue;
    const auto words = [](const RunInfo& r, const std::string& partition) {
      return fmt::format("run {} is shard {} of {}", r.run_id.substr(0, 8), r.shard,
                         partition.empty() ? "no partition" : "partition " + partition);
    };
    return fail(fmt::format("{}, and {}: they are not shards of one run", words(first, one),
                            words(run, other)),
                "measure the shards with the same suites, options and --costs file, or judge each "
                "run by itself");
  }
  return {};
}

bool is_time_finding(const Finding& finding) { return is_timing_finding(finding.kind); }

bool has_time_finding(const Judgement& judgement) {
  return std::ranges::any_of(judgement.findings, is_time_finding);
}

// Resets a judgement with only timing findings to a pass: judge_times() finds them again from the
// stored times. Any other judgement is returned unchanged.
Judgement without_time_findings(Judgement judgement) {
  if (!judgement.gated_time || judgement.findings.empty() ||
      !std::ranges::all_of(judgement.findings, is_time_finding))
    return judgement;
  judgement.verdict = Verdict::pass;
  judgement.findings.clear();
  judgement.confirmation.reset();
  return judgement;
}

bool is_past_regression(const Judgement& judgement) {
  return judgement.verdict == Verdict::regressed || judgement.verdict == Verdict::unconfirmed;
}

void keep(Judgement& now, const Judgement& before, std::string_view why) {
  now.verdict = before.verdict;
  now.findings.insert(now.findings.end(), before.findings.begin(), before.findings.end());
  now.notes.emplace_back(why);
}

// Applies what is already known about the case to a new judgement:
//   1. A regression counts only after fresh processes have reproduced it. Otherwise it is
//      `unconfirmed`, or `ambiguous` if they disagreed.
//   2. An unconfirmed regression stays until the case is measured again or accepted.
//   3. A regression also stays if this database lacks the history it was found against.
Judgement apply_previous_result(Judgement now, const Judgement& before, bool has_past) {
  now.confirmation = before.confirmation;
  if (now.verdict == Verdict::regressed && before.confirmation != Confirmation::confirmed) {
    now.verdict =
        before.confirmation == Confirmation::disagree ? Verdict::ambiguous : Verdict::unconfirmed;
    if (now.verdict == Verdict::unconfirmed) {
      now.notes.push_back(
          fmt::format("unconfirmed: found when stored runs were judged again, without fresh "
                      "processes; {}, or accept it with a reason",
                      how_to_measure_again));
    }
  } else if (!is_failure(now.verdict) && before.verdict == Verdict::unconfirmed &&
             now.verdict != Verdict::expected_failure && now.verdict != Verdict::acknowledged) {
    keep(now, before,
         fmt::format("still unconfirmed: the earlier finding stays; {}, or accept it with a reason",
                     how_to_measure_again));
  } else if (!is_failure(now.verdict) && !has_past && is_past_regression(before)) {
    keep(now, before, "this database lacks the case's past, so the earlier finding stays");
  }
  return now;
}

// Returns true if storing `now` would not change the rows that hold `before`. `changes` has rows of
// its own. Limits of suites, and of outputs that were not measured, are not stored.
bool is_stored(Judgement now, const Judgement& before, const ErrorStatistics& errors) {
  now.changes.clear();
  if (now.terms) {
    Limits& limits = now.terms->limits;
    limits.suite = Limits{}.suite;
    limits.suite_judged = Limits{}.suite_judged;
    for (const RowOutput output : further_row_outputs) {
      const RowStatistics& of = row_statistics[output];
      if (!(errors.*of.measured)) limits.*of.limit = Limits{}.*of.limit;
    }
  }
  return now == before;
}

class RunJudge {
 public:
  RunJudge(Store& store, const ReviewedText& text, const std::string& today)
      : store_(store), text_(text), today_(today) {}
  JudgedRuns judged;

  void read(const std::vector<std::string>& run_ids) {
    for (const std::string& run_id : run_ids) add_run(run_id);
    unwrap(require_same_partition(judged.runs));
    judged.complete = judged.complete && is_complete_shard_set(judged.runs);
    fresh_ = unwrap(fresh_outcomes(store_, run_ids));
  }

  void judge_all() {
    is_changed_.assign(judged.outcomes.size(), false);
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) judge_errors(i);
    unwrap(judge_times());
    std::vector<JudgedCase> cases;
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
      const StoredOutcome& stored = judged.outcomes[i];
      if (is_changed_[i]) {
        unwrap(store_.add(judged.run_of[i], stored));
      } else if (!is_stored(stored.judgement, before_[i], stored.outcome.errors)) {
        cases.push_back(
            {judged.run_of[i], stored.outcome.suite, stored.outcome.case_id, &stored.judgement});
      }
    }
    unwrap(store_.update_judgements(cases));
    for (auto& diff : judged.diffs) diff.judgement = judge_diff(diff.outcome);
    conclude();
  }

 private:
  void add_run(const std::string& run_id) {
    const StoredRun run = unwrap(store_.run(run_id));
    if (!run.finished) {
      unwrap<void>(fail(
          fmt::format("run {} was interrupted: a part of a run has no verdict",
                      run_id.substr(0, 8)),
          fmt::format("measure the rest in its database: `{} --resume`", run.info.command_line)));
    }
    auto outcomes = unwrap(store_.outcomes(run_id));
    const auto diffs = unwrap(store_.diffs(run_id));
    const auto invariances = unwrap(store_.invariances(run_id));
    std::vector<PastQuery> asked;
    for (const auto& stored : outcomes)
      asked.push_back({series_of(stored.outcome, run.info.machine), stored.outcome.timed});
    auto pasts = unwrap(store_.pasts(asked, run_id));
    std::ranges::move(pasts, std::back_inserter(pasts_));
    judged.run_of.insert(judged.run_of.end(), outcomes.size(), run_id);
    if (judged.outcomes.empty())
      // Moves the vector as a whole: an outcome takes kilobytes, and usually there is only one run.
      judged.outcomes = std::move(outcomes);
    else
      std::ranges::move(outcomes, std::back_inserter(judged.outcomes));
    for (const PastQuery& of : asked) machine_of_.push_back(of.series.machine);
    judged.diffs.insert(judged.diffs.end(), diffs.begin(), diffs.end());
    judged.invariances.insert(judged.invariances.end(), invariances.begin(), invariances.end());
    judged.complete = judged.complete && run.complete;
    is_complete_.push_back(run.complete);
    judged.runs.push_back(run.info);
  }

  const RunInfo& run_of(std::size_t i) const {
    return *std::ranges::find_if(
        judged.runs, [&](const RunInfo& run) { return run.run_id == judged.run_of[i]; });
  }

  Judgement judge_against_past(const Outcome& outcome, std::size_t i) const {
    const Past& past = pasts_[i];
    const std::string day = today_.empty() ? run_of(i).started_at.substr(0, 10) : today_;
    return judge(inputs_of(outcome, past, text_.contracts, text_.support, day));
  }

  const std::vector<StoredOutcome>& fresh_of(const Outcome& outcome) const {
    static const std::vector<StoredOutcome> none;
    const auto found = fresh_.find({outcome.suite, outcome.case_id});
    return found == fresh_.end() ? none : found->second;
  }

  // Judges everything except the time.
  void judge_errors(std::size_t i) {
    StoredOutcome& stored = judged.outcomes[i];
    const Past& past = pasts_[i];
    Judgement now = judge_against_past(stored.outcome, i);
    before_.push_back(stored.judgement);
    const Judgement before = without_time_findings(std::move(stored.judgement));
    const auto& fresh = fresh_of(stored.outcome);
    if (now.verdict == Verdict::regressed && !before.confirmation && fresh.size() >= 2) {
      stored.judgement = std::move(now);
      std::array<StoredOutcome, 2> again{fresh[0], fresh[1]};
      for (StoredOutcome& answer : again) answer.judgement = judge_against_past(answer.outcome, i);
      apply_confirmation(stored, std::move(again));
      is_changed_[i] = true;
      return;
    }
    stored.judgement = apply_previous_result(std::move(now), before, past.baseline || past.pin);
    if (!has_time_finding(before_[i]) || before_[i].verdict != Verdict::unconfirmed) return;
    add_fresh_ratios(i, fresh);
  }

  // Adds the time ratios of fresh processes that measured a suspected slowdown again.
  void add_fresh_ratios(std::size_t i, const std::vector<StoredOutcome>& fresh) {
    auto& ratios = judged.outcomes[i].outcome.times.fresh_ratios;
    if (!ratios.empty()) return;
    for (const StoredOutcome& answer : fresh) {
      if (answer.outcome.status == Status::ok && answer.outcome.time_ratio > 0 &&
          !is_disturbed(answer.outcome.times.rounds))
        ratios.push_back(answer.outcome.time_ratio);
    }
    is_changed_[i] = !ratios.empty();
  }

  // Judges the times from what is stored, including the times of fresh processes.
  Result<void> judge_times() {
    Result<void> floors;
    NightTimesInput input;
    input.today = today_.empty() ? judged.runs.front().started_at.substr(0, 10) : today_;
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
      auto& stored = judged.outcomes[i];
      input.cases.push_back({&stored, &pasts_[i], machine_of_[i], nullptr});
    }
    input.min_spread = [&](const MachineClass& machine) {
      auto ratios = store_.second_ratios(machine);
      if (!ratios) floors = tl::unexpected(ratios.error());
      return ratios ? floor_of_spread(*ratios) : 0.0;
    };
    judged.night_times = judge_night_times(input);
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) keep_time_finding(i);
    return floors;
  }

  void keep_time_finding(std::size_t i) {
    Judgement& now = judged.outcomes[i].judgement;
    const Judgement& before = before_[i];
    const bool is_open = before.verdict == Verdict::ambiguous || is_past_regression(before);
    if (!now.gated_time || now.gated_time->finding != "too few" || !is_open ||
        !has_time_finding(before))
      return;
    now.gated_time = before.gated_time;
    now.verdict = worse_of(now.verdict, before.verdict);
    std::ranges::copy_if(before.findings, std::back_inserter(now.findings), is_time_finding);
    now.confirmation = before.confirmation;
    now.notes.emplace_back("this database lacks the nights before, so the earlier finding stays");
  }

  std::vector<SuiteScore> scores() const {
    std::vector<const Outcome*> outcomes;
    std::vector<const Baseline*> past, pins;
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
      if (judged.outcomes[i].judgement.verdict == Verdict::expected_failure) continue;
      outcomes.push_back(&judged.outcomes[i].outcome);
      past.push_back(pasts_[i].baseline ? &*pasts_[i].baseline : nullptr);
      pins.push_back(pasts_[i].pin ? &pasts_[i].pin->outcome : nullptr);
    }
    return judge_suites(outcomes, text_.contracts, past, judged.complete, pins);
  }

  // A machine class has one row of night times. The row is stored with the first run that timed a
  // case on it.
  std::vector<NightTimes> night_times_of(const RunInfo& run) const {
    std::vector<NightTimes> rows;
    for (const NightTimes& row : judged.night_times) {
      for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
        const auto& outcome = judged.outcomes[i].outcome;
        if (!outcome.timed || machine_of_[i] != row.machine) continue;
        if (judged.run_of[i] == run.run_id) rows.push_back(row);
        break;
      }
    }
    return rows;
  }

  bool is_clock_behind() const { return std::ranges::any_of(judged.runs, has_wrong_clock); }

  void conclude() {
    judged.scores = scores();
    std::vector<const RunInfo*> runs;
    for (const auto& run : judged.runs) runs.push_back(&run);
    const std::vector<Store*> stores{&store_};
    auto changes =
        unwrap(changes_of({runs, judged.outcomes, judged.run_of, stores, judged.complete}));
    for (const auto& of_run : changes)
      judged.changes.insert(judged.changes.end(), of_run.begin(), of_run.end());
    judged.exit_code =
        exit_code_of(state_of({judged.outcomes, judged.diffs, judged.invariances, judged.scores,
                               judged.changes, judged.night_times, true, is_clock_behind()}));
    for (std::size_t i = 0; i < judged.runs.size(); ++i) {
      const std::string& run_id = judged.runs[i].run_id;
      unwrap(store_.add_suite_scores(run_id, judged.scores));
      unwrap(store_.set_changes(run_id, changes[i]));
      unwrap(store_.set_night_times(run_id, night_times_of(judged.runs[i])));
      unwrap(store_.finish_run(run_id, judged.exit_code, is_complete_[i]));
    }
  }

  Store& store_;
  const ReviewedText& text_;
  const std::string& today_;
  std::vector<Past> pasts_;               // for each outcome: the history before its run
  std::vector<MachineClass> machine_of_;  // for each outcome
  std::vector<Judgement> before_;         // for each outcome: as it was stored
  std::vector<bool> is_changed_;   // for each outcome: true if more than its judgement changed
  std::vector<bool> is_complete_;  // for each run
  FreshOutcomes fresh_;
};

}  // namespace

Result<JudgedRuns> judge_runs(Store& store, const std::vector<std::string>& run_ids,
                              const ReviewedText& text, const std::string& today) {
  RunJudge judging(store, text, today);
  return attempt([&] {
    judging.read(run_ids);
    judging.judge_all();
    return std::move(judging.judged);
  });
}

std::vector<OpenCase> open_cases_of(const JudgedRuns& judged) {
  std::vector<OpenCase> open;
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    const auto& [outcome, judgement] = judged.outcomes[i];
    if (judgement.verdict != Verdict::unconfirmed) continue;
    const auto run = std::ranges::find_if(
        judged.runs, [&](const RunInfo& r) { return r.run_id == judged.run_of[i]; });
    OpenCase c;
    c.run_id = judged.run_of[i];
    c.suite = outcome.suite;
    c.group = outcome.group;
    c.tier = outcome.tier;
    c.case_id = outcome.case_id;
    c.timed = outcome.timed;
    c.expected = outcome.expected;
    c.machine = series_of(outcome, run->machine).machine;
    c.provider_options = outcome.provider_options;
    if (!judgement.findings.empty()) {
      c.statistic = name(judgement.findings.front().kind);
      c.text = judgement.findings.front().text;
    }
    if (has_time_finding(judgement)) {
      for (const NightTimes& row : judged.night_times) {
        if (row.machine == c.machine) c.processes = std::max(c.processes, row.fresh);
      }
    }
    open.push_back(std::move(c));
  }
  return open;
}

}  // namespace plumbline
