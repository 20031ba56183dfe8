// plumbline judge: judges a stored run again (after its shards were merged, or contracts changed), with its suite statistics.
#include <fmt/format.h>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

struct JudgeOptions {
  ProviderOptions providers;
  DatabaseOption database;
  std::string run = "latest", format = "text";
  bool partial = false;
};

// Baselines by case, as they were before the run.
Result<std::vector<std::optional<Baseline>>> baselines_of(Store& store, const std::vector<StoredOutcome>& outcomes, const RunInfo& run) {
  std::vector<std::optional<Baseline>> baselines;
  for (const auto& stored : outcomes) {
    auto baseline = store.baseline(stored.outcome.case_id, run.machine, run.run_id);
    if (!baseline) return tl::unexpected(baseline.error());
    baselines.push_back(std::move(*baseline));
  }
  return baselines;
}

Result<RunInfo> run_info(Store& store, const std::string& run_id) {
  auto runs = store.runs(1'000'000);
  if (!runs) return tl::unexpected(runs.error());
  for (const auto& run : *runs) {
    if (run.run_id == run_id) return run;
  }
  return fail(fmt::format("no run {}", run_id));
}

Result<int> judge_run(const JudgeOptions& options, Store& store, const ReviewedText& text) {
  auto run_id = store.resolve_run(options.run);
  if (!run_id) return tl::unexpected(run_id.error());
  auto run = run_info(store, *run_id);
  auto outcomes = store.outcomes(*run_id);
  auto diffs = store.diffs(*run_id);
  if (!run) return tl::unexpected(run.error());
  if (!outcomes) return tl::unexpected(outcomes.error());
  if (!diffs) return tl::unexpected(diffs.error());
  auto baselines = baselines_of(store, *outcomes, *run);
  if (!baselines) return tl::unexpected(baselines.error());

  std::vector<const Outcome*> judged;
  std::vector<const Baseline*> past;
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    auto& stored = (*outcomes)[i];
    past.push_back((*baselines)[i] ? &*(*baselines)[i] : nullptr);
    auto times = store.time_history(stored.outcome.case_id, run->machine, *run_id);
    if (!times) return tl::unexpected(times.error());
    // A regression was confirmed, or not, while the run could still measure.
    const bool was_ambiguous = stored.judgement.verdict == Verdict::ambiguous;
    auto judgement = judge({&stored.outcome, &text.contracts, &text.support, past.back(), &*times});
    if (was_ambiguous && judgement.verdict == Verdict::regressed) judgement.verdict = Verdict::ambiguous;
    stored.judgement = std::move(judgement);
    judged.push_back(&stored.outcome);
    verdicts.push_back(stored.judgement.verdict);
    auto updated = store.update_judgement(*run_id, stored.outcome.suite, stored.outcome.case_id, stored.judgement);
    if (!updated) return tl::unexpected(updated.error());
  }
  for (const auto& diff : *diffs) verdicts.push_back(diff.judgement.verdict);
  const auto scores = judge_suites(judged, text.contracts, past, !options.partial);
  const int code = exit_code(verdicts, scores);
  if (auto kept = store.add_suite_scores(*run_id, scores); !kept) return tl::unexpected(kept.error());
  if (auto finished = store.finish_run(*run_id, code, !options.partial); !finished) return tl::unexpected(finished.error());
  const RunReport content{&*run, &*outcomes, &*diffs, &scores, code, "plumbline run"};
  fmt::print("{}", options.format == "json" ? render_json(content) : render_text(content, output_style()));
  return code;
}

int judge_command(const JudgeOptions& options) {
  auto text = options.providers.reviewed_text();
  if (!text) return report_errors(text.error(), exit_usage);
  auto store = options.database.open(false);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto code = judge_run(options, **store, *text);
  return code ? *code : report_errors(code.error(), exit_infrastructure);
}

}  // namespace

void add_judge(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("judge", "Judge a stored run again, with its suite statistics");
  auto options = std::make_shared<JudgeOptions>();
  command->add_option("run", options->run, "Run id, unique prefix, latest or latest~N")->capture_default_str();
  options->database.add_to(*command);
  command->add_option("--baselines", options->providers.baselines, "Directory with contracts.toml and support.toml")->type_name("DIR");
  command->add_flag("--partial", options->partial, "Some shards are missing: suite statistics are not judged");
  command->add_option("--format", options->format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  command->footer("Example:\n  plumbline judge latest --db nightly.db");
  command->callback([options, &exit_code] { exit_code = judge_command(*options); });
}

}  // namespace plumbline::cli
