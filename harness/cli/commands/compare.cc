// plumbline compare: two runs, nights or commits, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "harness/base/median.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/judge/acknowledged.h"
#include "harness/report/comparison.h"
#include "harness/report/format.h"
#include "harness/store/machine.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct CompareOptions {
  DatabaseOption database;
  std::string before = "latest~1", after = "latest", format = "text";
  bool all = false, any_machine = false;
};

// The noise if the gate knows no spread between nights. The processor times of a dozen runs on a
// busy machine scattered by 3.5 %, and on a quiet one by less (docs/nights.md, "Measuring").
constexpr double noise_without_spread = 1.10;

// The key of a comparison: a suite's case, the provider's options and the machine class. The
// ordinal of a device is not part of it.
struct Series {
  std::string suite, series_id, machine, options;
  bool operator<(const Series& other) const {
    return std::tie(suite, series_id, machine, options) <
           std::tie(other.suite, other.series_id, other.machine, other.options);
  }
};

struct Measured {
  std::string case_id;
  ComparedSide side;  // the newest run's, with median times
  std::vector<double> ratios, times;
  std::optional<double> noise;  // as the gate knew it
};

using Side = std::map<Series, Measured>;

struct ReadSide {
  Side cases;
  IncompleteRuns incomplete;
  bool whole = true;  // every run measured all of its suites
};

void add(Side& side, const StoredOutcome& stored, const MachineClass& host) {
  const auto& [outcome, judgement] = stored;
  const MachineClass machine = class_of(outcome, host);
  const std::string words = describe(machine);
  Measured& measured =
      side[{outcome.suite, series_id(outcome.case_id), words, outcome.provider_options}];
  measured.case_id = outcome.case_id;
  measured.side = {judgement.verdict,
                   outcome.errors.rms,
                   0,
                   0,
                   outcome.timed ? unjudged_time(judgement) : "",
                   outcome.output_digest,
                   outcome.description.build_id,
                   words,
                   outcome.provider_options};
  if (outcome.timed && outcome.time_ratio > 0) {
    measured.ratios.push_back(outcome.time_ratio);
    measured.times.push_back(outcome.time_ns);
  }
  if (judgement.gated_time && judgement.gated_time->spread > 0)
    measured.noise = time_noise(judgement);
}

ReadSide side_of(Store& store, const RunSelection& selection) {
  ReadSide read;
  Side& side = read.cases;
  for (const std::string& run_id : selection.run_ids) {
    const auto run = need(store.run(run_id), exit_usage);
    const auto outcomes = need(store.outcomes(run_id), exit_usage);
    for (const StoredOutcome& stored : outcomes) add(side, stored, run.info.machine);
    read.whole = read.whole && run.complete && run.info.shard == "1/1";
    read.incomplete.add(run, outcomes.size());
  }
  for (auto& [series, measured] : side) {
    if (measured.ratios.empty()) continue;
    measured.side.time_ratio = median(measured.ratios);
    measured.side.time_ns = median(measured.times);
  }
  return read;
}

// Counts the series that only the earlier side has, in suites that the later side measured. Returns
// 0 if a side is partial, because cases that a filter or shard leaves out are not lost.
std::size_t count_lost_cases(const ReadSide& before, const ReadSide& after) {
  if (!before.whole || !after.whole) return 0;
  std::set<std::string> suites;
  std::set<std::pair<std::string, std::string>> held;
  for (const auto& [series, measured] : after.cases) {
    suites.insert(series.suite);
    held.insert({series.suite, series.series_id});
  }
  std::set<std::pair<std::string, std::string>> lost;
  for (const auto& [series, measured] : before.cases) {
    const std::pair name{series.suite, series.series_id};
    if (suites.contains(series.suite) && !held.contains(name)) lost.insert(name);
  }
  return lost.size();
}

// Moves pairs of series from both sides to `cases`. Two series are a pair if `part`, which may
// clear some of their fields, makes them equal.
template <class Part>
void join(Side& before, Side& after, Part part, std::vector<ComparedCase>& cases) {
  std::map<Series, Side::iterator> left;
  for (auto it = before.begin(); it != before.end(); ++it) left.emplace(part(it->first), it);
  for (auto it = after.begin(); it != after.end();) {
    const auto found = left.find(part(it->first));
    if (found == left.end()) {
      ++it;
      continue;
    }
    const auto& [series, b] = *it;
    const auto& [series_before, a] = *found->second;
    ComparedCase c{series.suite, b.case_id, a.side, b.side,
                   series.machine == series_before.machine};
    c.time_noise = b.noise ? *b.noise : a.noise ? *a.noise : noise_without_spread;
    cases.push_back(std::move(c));
    before.erase(found->second);
    left.erase(found);
    it = after.erase(it);
  }
}

// Pairs series of one class with the same options first, then with other options, then across
// classes. A case that was paired within any class is not compared across classes.
RunComparison joined(Side before, Side after) {
  RunComparison result;
  join(
      before, after, [](const Series& s) { return s; }, result.cases);
  const auto without_options = [](Series s) {
    s.options.clear();
    return s;
  };
  join(before, after, without_options, result.cases);
  std::map<Series, bool> has_partner;
  const auto case_alone = [](const Series& s) { return Series{s.suite, s.series_id, "", ""}; };
  for (const ComparedCase& c : result.cases)
    has_partner[{c.suite, series_id(c.case_id), "", ""}] = true;
  Side unpaired_before, unpaired_after;
  for (const auto& [from, to] :
       {std::pair{&before, &unpaired_before}, std::pair{&after, &unpaired_after}}) {
    for (const auto& [series, measured] : *from)
      if (!has_partner.contains(case_alone(series))) to->emplace(series, measured);
  }
  const std::size_t unpaired_count_before = unpaired_before.size(),
                    unpaired_count_after = unpaired_after.size();
  join(unpaired_before, unpaired_after, case_alone, result.cases);
  result.only_before = before.size() - (unpaired_count_before - unpaired_before.size());
  result.only_after = after.size() - (unpaired_count_after - unpaired_after.size());
  return result;
}

RunComparison compare(const CompareOptions& options, Store& store) {
  const auto runs_before = need(store.resolve_runs(options.before), exit_usage);
  const auto runs_after = need(store.resolve_runs(options.after), exit_usage);
  auto before = side_of(store, runs_before), after = side_of(store, runs_after);
  const std::size_t lost = count_lost_cases(before, after);
  RunComparison result = joined(std::move(before.cases), std::move(after.cases));
  result.lost = lost;
  result.incomplete_before = before.incomplete, result.incomplete_after = after.incomplete;
  result.before = runs_before.label, result.after = runs_after.label;
  result.runs_before = runs_before.run_ids, result.runs_after = runs_after.run_ids;
  result.all = options.all;
  return result;
}

constexpr std::array compare_formats{Format<RunComparison>{"text", render_comparison},
                                     Format<RunComparison>{"json", nullptr, json_of_comparison}};

// Times of different machine classes say nothing about a kernel, and their bits may legally differ.
void refuse_other_classes(const CompareOptions& options, const RunComparison& comparison) {
  if (options.any_machine) return;
  const auto other = [](const ComparedCase& c) { return !c.same_class; };
  const auto count = std::ranges::count_if(comparison.cases, other);
  if (count == 0) return;
  const auto& first = *std::ranges::find_if(comparison.cases, other);
  end_command(
      exit_not_comparable,
      fmt::format("{} of {} cases ran on another machine class: \"{}\" in {}, \"{}\" in {}", count,
                  comparison.cases.size(), first.before.machine, comparison.before,
                  first.after.machine, comparison.after),
      "compare runs of one class; --any-machine compares verdicts, bits and errors anyway, but "
      "not times");
}

int compare_command(const CompareOptions& options) {
  auto store = need(options.database.open(true));
  auto comparison = compare(options, *store);
  if (comparison.cases.empty()) {
    end_command(
        exit_not_comparable,
        fmt::format("{} and {} have no case in common", comparison.before, comparison.after),
        "choose runs of the same suites: `plumbline query runs`");
  }
  refuse_other_classes(options, comparison);
  write_as(compare_formats, options.format, comparison);
  return exit_code_of(comparison.state());
}

}  // namespace

void add_compare(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, compare_command, "compare",
                                     "Compare two stored runs, nights or commits case by case");
  command
      .add_option("before", options.before,
                  "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, "
                  "night:ID; commit:SHA or the beginning of a commit")
      .capture_default_str();
  command.add_option("after", options.after, "The later one, named likewise").capture_default_str();
  options.database.add_to(command);
  command.add_flag("--all", options.all, "Also cases that did not change");
  command.add_flag("--any-machine", options.any_machine,
                   "Also cases that ran on other machine classes; their times are not compared");
  add_format(command, options.format, compare_formats);
  command.footer(
      "If a night or commit has several runs, the newest outcome of each case and the median of "
      "its times count. A time is listed if it changed by more than noise: 3 sqrt(2) standard "
      "deviations of the time between nights and at least 2 %, or 10 % if the standard deviation "
      "is not known yet.\n"
      "Exit 1 if a case that did not fail before fails now; 5 if a case that was fine is now open "
      "or not judged, a run did not finish, or the later side measured a suite in full but lacks "
      "some of its cases; 6 if the sides share no case, or ran on different machine classes.\n"
      "Examples:\n  plumbline compare latest~1 latest\n"
      "  plumbline compare latest-night~1 latest-night\n"
      "  plumbline compare 3f2a01b 9c2e3fc --all");
}

}  // namespace plumbline::cli
