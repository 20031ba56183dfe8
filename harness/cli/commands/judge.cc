// plumbline judge: judges stored runs again, with their suite statistics, after contracts changed
// or when all shards are present.
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/replay.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/run/judge_runs.h"

namespace plumbline::cli {
namespace {

struct JudgeOptions {
  ProviderOptions providers;
  DatabaseOption database;
  std::vector<std::string> runs{"latest"};
  std::string format = "text";
  std::string replay;  // file of another program, judged instead of runs
  bool higher_is_better = false;
};

int judge_command(const JudgeOptions& options) {
  if (!options.replay.empty())
    return replay_command(options.replay, options.higher_is_better, options.format);
  auto text = need(options.providers.reviewed_text(), exit_usage);
  auto store = need(options.database.open_existing());
  std::vector<std::string> run_ids;
  for (const auto& run : options.runs) run_ids.push_back(need(store->resolve_run(run), exit_usage));
  const auto judged = need(judge_runs(*store, run_ids, text, today()));
  write_as(run_formats, options.format, report_of(judged));
  return judged.exit_code;
}

}  // namespace

void add_judge(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, judge_command, "judge",
                                     "Judge stored runs again, with their suite statistics");
  command
      .add_option("runs", options.runs,
                  "Run ids, unique prefixes, latest or latest~N: one run, or all shards of one")
      .capture_default_str();
  options.database.add_to(command);
  command.add_option("--baselines", options.providers.baselines, "DIR",
                     "Directory with contracts.toml and support.toml");
  add_format(command, options.format, run_formats, "What goes to stdout");
  command
      .add_option("--replay", options.replay, "FILE.csv",
                  "Runs the time gate over a series of another program, without a database")
      .excludes("runs")
      .excludes("--db");
  command
      .add_flag("--higher-is-better", options.higher_is_better,
                "The series of --replay is a throughput, not a time")
      .needs("--replay");
  command.footer(
      "Examples:\n  plumbline judge latest --db nightly.db\n  plumbline judge latest~1 latest   # "
      "two shards of one run\n"
      "  plumbline merge all.db shard-1.db shard-2.db && plumbline judge latest~1 latest --db "
      "all.db\n"
      "  plumbline judge --replay throughput.csv --higher-is-better");
}

}  // namespace plumbline::cli
