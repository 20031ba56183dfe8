// plumbline merge: joins databases of runs, such as those of shards, into one.
#include "harness/store/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/enumeration.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/report/json_value.h"
#include "harness/run/judge_runs.h"
#include "harness/run/open_cases.h"

namespace plumbline::cli {
namespace {

struct MergeOptions {
  std::filesystem::path out;
  std::vector<std::filesystem::path> shards;
  std::filesystem::path confirmations;  // "" for none
  ProviderOptions providers;            // only for the reviewed text
  bool judge = false;
  std::string format = "text";
};

struct JudgedShardSet {
  JudgedRuns judged;
  std::vector<std::string> missing;  // shards
  int exit_code = exit_fine;
};

std::string_view words(MergedRun::State state) {
  return state == MergedRun::State::added ? "added"
         : state == MergedRun::State::replaced
             ? "replaced: finished later than the copy that was there"
             : "already there";
}

void print(const MergeOptions& options, const MergeReport& report) {
  std::map<MergedRun::State, int> states;
  for (const auto& run : report.runs) {
    ++states[run.state];
    fmt::print("{}  {}  shard {:<6} {}\n", run.info.run_id.substr(0, 8), run.info.started_at,
               run.info.shard, words(run.state));
  }
  fmt::print("{}: {} runs added, {} replaced, {} already there; {} more outcomes, {} in all\n",
             options.out.string(), states[MergedRun::State::added],
             states[MergedRun::State::replaced], states[MergedRun::State::kept],
             report.outcomes - report.outcomes_before, report.outcomes);
}

void print_how_to_judge(const MergeOptions& options, const MergeReport& report) {
  std::vector<std::string> parts;
  for (const auto& run : report.runs) {
    if (run.info.shard != "1/1") parts.push_back(run.info.run_id.substr(0, 8));
  }
  if (parts.size() > 1)
    fmt::print("shards of one run are judged together: plumbline judge {} --db {}\n",
               fmt::join(parts, " "), options.out.string());
}

// `judged` is null without --judge.
std::string as_json(const MergeOptions& options, const MergeReport& report,
                    const std::vector<JudgedShardSet>* judged, const OpenCases& open) {
  const auto run_json = [](const MergedRun& run) -> Json {
    return {JSON_FIELDS(run, info.run_id, info.started_at, info.shard, state)};
  };
  Json data{{"database", options.out.string()},
            JSON_FIELDS_BY(list_of(run_json), report, runs),
            JSON_FIELDS(report, outcomes_before, outcomes)};
  if (judged != nullptr) {
    data["judged"] = json_list(judged, [](const JudgedShardSet& whole) -> Json {
      const auto id_of = [](const RunInfo& run) { return run.run_id; };
      return {{"run_ids", json_list(whole.judged.runs, id_of)},
              JSON_FIELDS(whole, missing),
              {"outcomes", whole.judged.outcomes.size()},
              JSON_FIELDS(whole, exit_code)};
    });
    data["open"] = json_list(open.cases, [](const OpenCase& c) -> Json {
      return {JSON_FIELDS(c, suite, case_id, run_id)};
    });
  }
  return json_text(data);
}

int worst_of(const std::vector<JudgedShardSet>& shard_sets) {
  RunState worst = RunState::fine;
  for (const JudgedShardSet& whole : shard_sets)
    worst = worse_of(worst, state_of_exit(whole.exit_code));
  return exit_code_of(worst);
}

// Returns the cases that fresh processes must measure again. Cases of a run that does not record
// how it measured are reported and left out.
OpenCases open_cases(const std::vector<JudgedShardSet>& shard_sets) {
  OpenCases open;
  int number = 0;
  for (const JudgedShardSet& whole : shard_sets) {
    ++number;
    std::set<std::string> unknown;
    for (const RunInfo& run : whole.judged.runs) {
      open.night_id = run.night_id;
      if (const auto measured = parse_measure_setup(run.versions_json)) {
        open.runs.push_back({run.run_id, run.commit, *measured, number});
      } else {
        unknown.insert(run.run_id);
      }
    }
    for (OpenCase& c : open_cases_of(whole.judged)) {
      if (!unknown.contains(c.run_id)) {
        open.cases.push_back(std::move(c));
      } else {
        fmt::print(stderr, "{}: run {} does not say how it was measured: measure it again\n",
                   c.case_id, c.run_id.substr(0, 8));
      }
    }
  }
  return open;
}

std::vector<JudgedShardSet> judge_shard_sets(const MergeOptions& options,
                                             const MergeReport& report) {
  auto text = need(options.providers.reviewed_text());
  auto store = need(Store::open(options.out));
  std::vector<RunInfo> runs;
  for (const auto& run : report.runs) runs.push_back(run.info);
  auto shard_sets = need(group_shards(*store, runs));
  std::vector<JudgedShardSet> judged;
  for (ShardSet& whole : shard_sets) {
    JudgedShardSet& one = judged.emplace_back();
    one.missing = std::move(whole.missing);
    if (!whole.run_ids.empty()) {
      one.judged = need(judge_runs(*store, whole.run_ids, text, ""));
      one.exit_code = one.judged.exit_code;
    }
    if (!one.missing.empty()) one.exit_code = exit_infrastructure;
  }
  return judged;
}

int judge_merged(const MergeOptions& options, const MergeReport& report) {
  auto shard_sets = judge_shard_sets(options, report);
  const OpenCases open = open_cases(shard_sets);
  if (!options.confirmations.empty()) need(write_text(options.confirmations, json_text_of(open)));
  if (options.format == "json") {
    print_json(as_json(options, report, &shard_sets, open));
  } else {
    print(options, report);
    for (const JudgedShardSet& whole : shard_sets) {
      if (!whole.judged.runs.empty()) write_as(run_formats, "text", report_of(whole.judged));
    }
    if (!open.cases.empty() && !options.confirmations.empty()) {
      fmt::print(
          "{} open: plumbline confirm {} --db confirm.db --past {}\n",
          open.cases.size() == 1 ? "1 case is" : fmt::format("{} cases are", open.cases.size()),
          options.confirmations.string(), options.out.string());
    }
  }
  Errors errors;
  for (const JudgedShardSet& whole : shard_sets) {
    if (whole.missing.empty()) continue;
    errors.push_back(
        {options.out.string(), 0,
         fmt::format("not completely measured: shard {}", fmt::join(whole.missing, ", ")),
         "measure and merge it as well; until then, suite statistics and vanished cases are not "
         "judged"});
  }
  const int code = worst_of(shard_sets);
  return errors.empty() ? code : report_errors(errors, code);
}

int merge(const MergeOptions& options) {
  if (!options.judge && !options.confirmations.empty())
    end_command(exit_usage, "--confirmations lists what --judge leaves open", "add --judge");
  const auto report = need(merge_databases(options.out, options.shards));
  if (options.judge) return judge_merged(options, report);
  if (options.format == "json") {
    print_json(as_json(options, report, nullptr, {}));
  } else {
    print(options, report);
    print_how_to_judge(options, report);
  }
  return exit_fine;
}

}  // namespace

void add_merge(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, merge, "merge",
                                     "Join databases of runs (shards), in any order, into one");
  command.add_option("out", options.out, "OUT.db", "Database to merge into; created if missing")
      .required();
  command
      .add_option("shards", options.shards, "SHARD.db", "Databases to merge; they stay as they are")
      .required();
  command.add_flag("--judge", options.judge,
                   "Then judge the merged runs: the shards of a night together, with what "
                   "`plumbline confirm` measured");
  command.add_option("--confirmations", options.confirmations, "FILE",
                     "With --judge: write the cases that fresh processes must measure again, for "
                     "`plumbline confirm`");
  command.add_option("--baselines", options.providers.baselines, "DIR",
                     "With --judge: directory with contracts.toml and support.toml");
  add_format(command, options.format, {"text", "json"});
  command.footer(
      "A run in several files is stored once, so merging again changes nothing. If one file is "
      "refused, OUT.db stays as it was.\n"
      "With --judge the exit code is that of the night: 1 a failure or a confirmed regression, 3 a "
      "shard is missing, 5 something is unconfirmed or ambiguous.\n"
      "Examples:\n"
      "  plumbline merge all.db shard-1.db shard-2.db shard-3.db\n"
      "  plumbline merge history.db artefacts/*.db && plumbline query --db history.db "
      "failing-since\n"
      "  plumbline merge history.db shard-*.db --judge --confirmations open.json\n"
      "  plumbline merge history.db confirm.db --judge   # after plumbline confirm open.json");
}

}  // namespace plumbline::cli
