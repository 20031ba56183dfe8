// plumbline merge: joins databases of runs, such as those of shards, into one.
#include "harness/store/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct MergeOptions {
  std::filesystem::path out;
  std::vector<std::filesystem::path> shards;
  std::string format = "text";
};

std::string_view name(MergedRun::State state) {
  switch (state) {
    case MergedRun::State::added:
      return "added";
    case MergedRun::State::replaced:
      return "replaced: finished later than the copy that was there";
    case MergedRun::State::kept:
      return "was there";
  }
  return "";
}

void print(const MergeOptions& options, const MergeReport& report) {
  std::map<MergedRun::State, int> states;
  for (const auto& run : report.runs) {
    ++states[run.state];
    fmt::print("{}  {}  shard {:<6} {}\n", run.info.run_id.substr(0, 8), run.info.started_at,
               run.info.shard, name(run.state));
  }
  fmt::print("{}: {} runs added, {} replaced, {} were there; {} outcomes more, {} in all\n",
             options.out.string(), states[MergedRun::State::added],
             states[MergedRun::State::replaced], states[MergedRun::State::kept],
             report.outcomes - report.outcomes_before, report.outcomes);
  std::vector<std::string> parts;
  for (const auto& run : report.runs) {
    if (run.info.shard != "1/1") parts.push_back(run.info.run_id.substr(0, 8));
  }
  if (parts.size() > 1)
    fmt::print("shards of one run are judged together: plumbline judge {} --db {}\n",
               fmt::join(parts, " "), options.out.string());
}

std::string_view word_of(MergedRun::State state) {
  return state == MergedRun::State::added      ? "added"
         : state == MergedRun::State::replaced ? "replaced"
                                               : "kept";
}

std::string as_json(const MergeOptions& options, const MergeReport& report) {
  Json runs = Json::array();
  for (const auto& run : report.runs) {
    runs.push_back({{"run_id", run.info.run_id},
                    {"started_at", run.info.started_at},
                    {"shard", run.info.shard},
                    {"state", word_of(run.state)}});
  }
  return json_text({{"database", options.out.string()},
                    {"runs", std::move(runs)},
                    {"outcomes_before", report.outcomes_before},
                    {"outcomes", report.outcomes}});
}

int merge(const MergeOptions& options) {
  const auto report = merge_databases(options.out, options.shards);
  if (!report) return report_errors(report.error(), exit_infrastructure);
  if (options.format == "json") {
    print_json(as_json(options, *report));
  } else {
    print(options, *report);
  }
  return exit_fine;
}

}  // namespace

void add_merge(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("merge", "Join databases of runs (shards), in any order, into one");
  auto options = std::make_shared<MergeOptions>();
  command.add_option("out", options->out, "Database that takes up the others; created if need be")
      .type_name("OUT.db")
      .required();
  command.add_option("shards", options->shards, "Databases to take up; they stay as they are")
      .type_name("SHARD.db")
      .required();
  add_format(command, options->format, {"text", "json"});
  command.footer(
      "What is in several files is stored once: merging again changes nothing. If one file is "
      "refused, OUT.db stays as it was.\n"
      "Examples:\n"
      "  plumbline merge all.db shard-1.db shard-2.db shard-3.db\n"
      "  plumbline merge history.db artefacts/*.db && plumbline query --db history.db "
      "failing-since");
  command.callback([options, &exit_code] { exit_code = merge(*options); });
}

}  // namespace plumbline::cli
