// plumbline judge: judges stored runs again (after contracts changed, or all shards are there), with their suite statistics.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"

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
  std::vector<std::string> run_of;                 // run id of each outcome
  std::vector<std::optional<Baseline>> baselines;  // as before its run
  std::vector<StoredDiff> diffs;
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
  if (!run) return tl::unexpected(run.error());
  if (!run->finished) {
    return fail(fmt::format("run {} was interrupted: there is no verdict on part of it", run_id->substr(0, 8)),
                fmt::format("`{} --resume` in its database measures the rest", run->info.command_line));
  }
  if (!outcomes) return tl::unexpected(outcomes.error());
  if (!diffs) return tl::unexpected(diffs.error());
  for (auto& stored : *outcomes) {
    auto baseline = store.baseline(stored.outcome.case_id, run->info.machine, *run_id);
    if (!baseline) return tl::unexpected(baseline.error());
    judged.baselines.push_back(std::move(*baseline));
    judged.outcomes.push_back(std::move(stored));
    judged.run_of.push_back(*run_id);
  }
  judged.diffs.insert(judged.diffs.end(), diffs->begin(), diffs->end());
  judged.complete = judged.complete && run->complete;
  judged.runs.push_back(std::move(run->info));
  return {};
}

Result<void> judge_outcomes(JudgedRuns& judged, Store& store, const ReviewedText& text) {
  const std::string day = today();
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    auto& stored = judged.outcomes[i];
    auto times = store.time_history(stored.outcome.case_id, judged.runs.front().machine, judged.run_of[i]);
    if (!times) return tl::unexpected(times.error());
    // Whether a regression is confirmed was found out while the run could still measure.
    const auto before = stored.judgement.verdict;
    auto judgement =
        judge({&stored.outcome, &text.contracts, &text.support, judged.baselines[i] ? &*judged.baselines[i] : nullptr, &*times, day});
    const bool was_confirmed = is_failure(before) || before == Verdict::expected_failure;  // nobody asks again where failure is expected
    if (judgement.verdict == Verdict::regressed && !was_confirmed) judgement.verdict = before;
    stored.judgement = std::move(judgement);
    auto updated = store.update_judgement(judged.run_of[i], stored.outcome.suite, stored.outcome.case_id, stored.judgement);
    if (!updated) return updated;
  }
  return {};
}

Result<int> judge_runs(const JudgeOptions& options, Store& store, const ReviewedText& text) {
  JudgedRuns judged;
  for (const auto& run : options.runs) {
    if (auto added = add_run(judged, store, run); !added) return tl::unexpected(added.error());
  }
  if (auto done = judge_outcomes(judged, store, text); !done) return tl::unexpected(done.error());
  for (auto& diff : judged.diffs) diff.judgement = judge_diff(diff.outcome);

  std::vector<const Outcome*> outcomes;
  std::vector<const Baseline*> past;
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < judged.outcomes.size(); ++i) {
    verdicts.push_back(judged.outcomes[i].judgement.verdict);
    if (verdicts.back() == Verdict::expected_failure) continue;
    outcomes.push_back(&judged.outcomes[i].outcome);
    past.push_back(judged.baselines[i] ? &*judged.baselines[i] : nullptr);
  }
  for (const auto& diff : judged.diffs) verdicts.push_back(diff.judgement.verdict);
  const auto scores = judge_suites(outcomes, text.contracts, past, judged.complete && shards_make_the_whole(judged.runs));
  const int code = exit_code(verdicts, scores);
  for (const auto& run : judged.runs) {
    if (auto kept = store.add_suite_scores(run.run_id, scores); !kept) return tl::unexpected(kept.error());
    if (auto finished = store.finish_run(run.run_id, code, judged.complete); !finished) return tl::unexpected(finished.error());
  }
  const RunReport content{&judged.runs.front(), &judged.outcomes, &judged.diffs, &scores, code, reproduce_command(judged.runs.front())};
  fmt::print("{}", options.format == "json" ? render_json(content) : render_text(content, output_style()));
  return code;
}

int judge_command(const JudgeOptions& options) {
  auto text = options.providers.reviewed_text();
  if (!text) return report_errors(text.error(), exit_usage);
  auto store = options.database.open(false);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto code = judge_runs(options, **store, *text);
  return code ? *code : report_errors(code.error(), exit_infrastructure);
}

}  // namespace

void add_judge(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("judge", "Judge stored runs again, with their suite statistics");
  auto options = std::make_shared<JudgeOptions>();
  command->add_option("runs", options->runs, "Run ids, unique prefixes, latest or latest~N: one run, or all shards of one")
      ->capture_default_str();
  options->database.add_to(*command);
  command->add_option("--baselines", options->providers.baselines, "Directory with contracts.toml and support.toml")->type_name("DIR");
  command->add_option("--format", options->format, "What goes to stdout")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  command->footer(
      "Examples:\n  plumbline judge latest --db nightly.db\n  plumbline judge latest~1 latest   # two shards of one run\n"
      "  plumbline merge all.db shard-1.db shard-2.db && plumbline judge latest~1 latest --db all.db");
  command->callback([options, &exit_code] { exit_code = judge_command(*options); });
}

}  // namespace plumbline::cli
