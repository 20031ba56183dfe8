// plumbline judge: judges stored runs again, with their suite statistics. It is for contracts that
// changed, and for shards once all of them are there.
#include "harness/judge/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/run/conclusion.h"
#include "harness/run/night_times.h"
#include "harness/store/machine.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct JudgeOptions {
  ProviderOptions providers;
  DatabaseOption database;
  std::vector<std::string> runs{"latest"};
  std::string format = "text";
};

// The runs judged together: one, or the shards of one.
struct JudgedRuns {
  std::vector<RunInfo> runs;
  std::vector<StoredOutcome> outcomes;
  std::vector<std::string> run_of;  // run id of each outcome
  std::vector<Past> pasts;          // as before its run
  std::vector<StoredDiff> diffs;
  std::vector<StoredInvariance> invariances;
  std::vector<Judgement> before;  // of each outcome, as it was stored
  std::vector<NightTimes> night_times;
  bool complete = true;  // every run measured all of its part, and the parts make the whole
};

// "1/3", "2/3", "3/3" in any order make the whole; a single "1/1" does.
bool shards_make_the_whole(const std::vector<RunInfo>& runs) {
  std::set<std::string> shards;
  for (const auto& run : runs) shards.insert(run.shard);
  const auto slash = runs.front().shard.find('/');
  const int n = slash == std::string::npos ? 0 : std::atoi(runs.front().shard.c_str() + slash + 1);
  if (shards.size() != runs.size() || static_cast<int>(runs.size()) != n) return false;
  for (int i = 1; i <= n; ++i) {
    if (shards.count(fmt::format("{}/{}", i, n)) == 0) return false;
  }
  return true;
}

Result<void> add_run(JudgedRuns& judged, Store& store, const std::string& text) {
  auto run_id = store.resolve_run(text);
  if (!run_id) return tl::unexpected(run_id.error());
  auto run = store.run(*run_id);
  auto outcomes = store.outcomes(*run_id);
  auto diffs = store.diffs(*run_id);
  auto invariances = store.invariances(*run_id);
  if (!run) return tl::unexpected(run.error());
  if (!run->finished) {
    return fail(
        fmt::format("run {} was interrupted: there is no verdict on part of it",
                    run_id->substr(0, 8)),
        fmt::format("`{} --resume` in its database measures the rest", run->info.command_line));
  }
  if (!outcomes) return tl::unexpected(outcomes.error());
  if (!diffs) return tl::unexpected(diffs.error());
  if (!invariances) return tl::unexpected(invariances.error());
  for (auto& stored : *outcomes) {
    auto past =
        store.past(series_of(stored.outcome, run->info.machine), *run_id, stored.outcome.timed);
    if (!past) return tl::unexpected(past.error());
    judged.pasts.push_back(std::move(*past));
    judged.outcomes.push_back(std::move(stored));
    judged.run_of.push_back(*run_id);
  }
  judged.diffs.insert(judged.diffs.end(), diffs->begin(), diffs->end());
  judged.invariances.insert(judged.invariances.end(), invariances->begin(), invariances->end());
  judged.complete = judged.complete && run->complete;
  judged.runs.push_back(std::move(run->info));
  return {};
}

bool is_of_time(const Finding& finding) { return finding.statistic.starts_with("time"); }

// What was found of the time follows from what is stored, and is found again; the rest does not.
Judgement without_time(Judgement judgement) {
  if (!judgement.gated_time || judgement.findings.empty() ||
      !std::all_of(judgement.findings.begin(), judgement.findings.end(), is_of_time))
    return judgement;
  judgement.verdict = Verdict::pass;
  judgement.findings.clear();
  judgement.confirmation.clear();
  return judgement;
}

bool is_found_in_the_past(const Judgement& judgement) {
  return judgement.verdict == Verdict::regressed || judgement.verdict == Verdict::unconfirmed;
}

void keep(Judgement& now, const Judgement& before, std::string_view why) {
  now.verdict = before.verdict;
  now.findings.insert(now.findings.end(), before.findings.begin(), before.findings.end());
  now.notes.emplace_back(why);
}

// A regression is a regression once fresh processes have shown it again, where there was a kernel
// to ask. Nobody can be asked here: what is found here for the first time is `unconfirmed`. And
// what was found where its past was at hand does not become fine where it is not.
Judgement settled(Judgement now, const Judgement& before, bool has_past) {
  now.confirmation = before.confirmation;
  if (now.verdict == Verdict::regressed && before.confirmation != "confirmed") {
    // Fresh processes have been asked, and the case is what they said.
    now.verdict = before.confirmation == "disagree" ? Verdict::ambiguous : Verdict::unconfirmed;
    if (now.verdict == Verdict::unconfirmed) {
      now.notes.emplace_back(
          "unconfirmed: no fresh process could be asked; measure the case again, or accept it with "
          "a reason");
    }
  } else if (!is_failure(now.verdict) && before.verdict == Verdict::unconfirmed &&
             now.verdict != Verdict::expected_failure && now.verdict != Verdict::acknowledged) {
    keep(now, before,
         "found unconfirmed before, and that stays until the case is measured again or accepted");
  } else if (!is_failure(now.verdict) && !has_past && is_found_in_the_past(before)) {
    keep(now, before, "its past is not in this database: what was found against it stays");
  }
  return now;
}

// Times are concluded from what is stored of them, fresh processes included. What was found where
// the nights before were at hand stays where they are not.
Result<void> judge_times(JudgedRuns& judged, Store& store) {
  Result<void> floors;
  NightTimesInput input;
  input.today = today();
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    auto& stored = judged.outcomes[i];
    const auto of_run = [&](const RunInfo& run) { return run.run_id == judged.run_of[i]; };
    const auto run = std::find_if(judged.runs.begin(), judged.runs.end(), of_run);
    input.cases.push_back(
        {&stored, &judged.pasts[i], series_of(stored.outcome, run->machine).machine, nullptr});
  }
  input.least_spread = [&](const MachineClass& machine) {
    auto ratios = store.second_ratios(machine);
    if (!ratios) floors = tl::unexpected(ratios.error());
    return ratios ? floor_of_spread(*ratios) : 0.0;
  };
  judged.night_times = judge_night_times(input);
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    Judgement& now = judged.outcomes[i].judgement;
    const Judgement& before = judged.before[i];
    const bool is_open = before.verdict == Verdict::ambiguous || is_found_in_the_past(before);
    if (!now.gated_time || now.gated_time->finding != "too few" || !is_open ||
        std::none_of(before.findings.begin(), before.findings.end(), is_of_time))
      continue;
    now.gated_time = before.gated_time;
    now.verdict = worse_of(now.verdict, before.verdict);
    std::copy_if(before.findings.begin(), before.findings.end(), std::back_inserter(now.findings),
                 is_of_time);
    now.confirmation = before.confirmation;
    now.notes.emplace_back(
        "the nights before are not in this database: what was found against them stays");
  }
  return floors;
}

// A machine class's row is stored with the first of the runs that has outcomes of it.
std::vector<NightTimes> rows_of(const JudgedRuns& judged, std::size_t run) {
  std::vector<NightTimes> rows;
  for (const NightTimes& row : judged.night_times) {
    for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
      const auto& outcome = judged.outcomes[i].outcome;
      const auto at = std::find_if(judged.runs.begin(), judged.runs.end(),
                                   [&](const RunInfo& r) { return r.run_id == judged.run_of[i]; });
      if (!outcome.timed || series_of(outcome, at->machine).machine != row.machine) continue;
      if (static_cast<std::size_t>(at - judged.runs.begin()) == run) rows.push_back(row);
      break;
    }
  }
  return rows;
}

Result<void> judge_outcomes(JudgedRuns& judged, Store& store, const ReviewedText& text) {
  const std::string day = today();
  std::vector<JudgedCase> cases;
  cases.reserve(judged.outcomes.size());
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    auto& stored = judged.outcomes[i];
    const Past& past = judged.pasts[i];
    auto judgement = judge({.outcome = &stored.outcome,
                            .contracts = &text.contracts,
                            .support = &text.support,
                            .baseline = past.baseline ? &*past.baseline : nullptr,
                            .today = day,
                            .pin = past.pin ? &*past.pin : nullptr,
                            .refusal_accepted = past.refusal_accepted,
                            .acknowledged = past.acknowledged ? &*past.acknowledged : nullptr});
    const bool has_past = past.baseline || past.pin;
    judged.before.push_back(stored.judgement);
    stored.judgement =
        settled(std::move(judgement), without_time(std::move(stored.judgement)), has_past);
  }
  if (auto done = judge_times(judged, store); !done) return done;
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    const auto& stored = judged.outcomes[i];
    cases.push_back(
        {judged.run_of[i], stored.outcome.suite, stored.outcome.case_id, &stored.judgement});
  }
  return store.update_judgements(cases);
}

std::vector<SuiteScore> scores_of(const JudgedRuns& judged, const Contracts& contracts) {
  std::vector<const Outcome*> outcomes;
  std::vector<const Baseline*> past, pins;
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    if (judged.outcomes[i].judgement.verdict == Verdict::expected_failure) continue;
    outcomes.push_back(&judged.outcomes[i].outcome);
    past.push_back(judged.pasts[i].baseline ? &*judged.pasts[i].baseline : nullptr);
    pins.push_back(judged.pasts[i].pin ? &judged.pasts[i].pin->outcome : nullptr);
  }
  return judge_suites(outcomes, contracts, past,
                      judged.complete && shards_make_the_whole(judged.runs), pins);
}

Result<int> judge_runs(const JudgeOptions& options, Store& store, const ReviewedText& text) {
  JudgedRuns judged;
  for (const auto& run : options.runs) {
    if (auto added = add_run(judged, store, run); !added) return tl::unexpected(added.error());
  }
  if (auto done = judge_outcomes(judged, store, text); !done) return tl::unexpected(done.error());
  for (auto& diff : judged.diffs) diff.judgement = judge_diff(diff.outcome);

  const auto scores = scores_of(judged, text.contracts);
  std::vector<const RunInfo*> runs;
  for (const auto& run : judged.runs) runs.push_back(&run);
  const std::vector<Store*> stores{&store};
  auto changes = changes_of({runs, judged.outcomes, judged.run_of, stores, judged.complete});
  if (!changes) return tl::unexpected(changes.error());
  std::vector<RunChange> all_changes;
  for (const auto& of_run : *changes)
    all_changes.insert(all_changes.end(), of_run.begin(), of_run.end());
  const int code = exit_code_of(
      {judged.outcomes, judged.diffs, judged.invariances, scores, all_changes, judged.night_times});
  for (std::size_t i = 0; i < judged.runs.size(); ++i) {
    const std::string& run_id = judged.runs[i].run_id;
    if (auto kept = store.add_suite_scores(run_id, scores); !kept)
      return tl::unexpected(kept.error());
    if (auto kept = store.set_changes(run_id, (*changes)[i]); !kept)
      return tl::unexpected(kept.error());
    if (auto kept = store.set_night_times(run_id, rows_of(judged, i)); !kept)
      return tl::unexpected(kept.error());
    if (auto finished = store.finish_run(run_id, code, judged.complete); !finished)
      return tl::unexpected(finished.error());
  }
  RunReport content{&judged.runs.front(),
                    &judged.outcomes,
                    &judged.diffs,
                    &scores,
                    code,
                    reproduce_command(judged.runs.front())};
  content.changes = &all_changes;
  content.night_times = &judged.night_times;
  if (!judged.invariances.empty()) content.invariances = &judged.invariances;
  write_as(run_formats, options.format, content);
  return code;
}

int judge_command(const JudgeOptions& options) {
  auto text = options.providers.reviewed_text();
  if (!text) return report_errors(text.error(), exit_usage);
  auto store = options.database.open_existing();
  if (!store) return report_errors(store.error(), exit_infrastructure);
  for (const auto& run : options.runs) {
    if (auto known = (*store)->resolve_run(run); !known)
      return report_errors(known.error(), exit_usage);
  }
  auto code = judge_runs(options, **store, *text);
  return code ? *code : report_errors(code.error(), exit_infrastructure);
}

}  // namespace

void add_judge(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("judge", "Judge stored runs again, with their suite statistics");
  auto options = std::make_shared<JudgeOptions>();
  command
      .add_option("runs", options->runs,
                  "Run ids, unique prefixes, latest or latest~N: one run, or all shards of one")
      .capture_default_str();
  options->database.add_to(command);
  command
      .add_option("--baselines", options->providers.baselines,
                  "Directory with contracts.toml and support.toml")
      .type_name("DIR");
  add_format(command, options->format, run_formats, "What goes to stdout");
  command.footer(
      "Examples:\n  plumbline judge latest --db nightly.db\n  plumbline judge latest~1 latest   # "
      "two shards of one run\n"
      "  plumbline merge all.db shard-1.db shard-2.db && plumbline judge latest~1 latest --db "
      "all.db");
  command.callback([options, &exit_code] { exit_code = judge_command(*options); });
}

}  // namespace plumbline::cli
