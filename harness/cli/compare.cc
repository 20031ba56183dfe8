// plumbline compare: two runs, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/store/machine.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct CompareOptions {
  DatabaseOption database;
  std::string before = "latest~1", after = "latest", format = "text";
  bool all = false, any_machine = false;
};

// A time that differs by more than this is named; what noise is, the judge says by the case's
// history.
constexpr double named_time_change = 1.25;

struct Change {
  std::string case_id, verdict_before, verdict_after;
  double rms_before = 0, rms_after = 0, time_ratio_before = 0, time_ratio_after = 0;
  bool bits_equal = false, build_equal = false;
  bool measured = false;  // both sides have an output
  double time_ns_before = 0, time_ns_after = 0;
  bool same_class = true;  // of machines: times are compared
  std::string class_before, class_after;
  std::string options_before, options_after;  // of the kernel's provider
  double time_change() const {
    return time_ratio_before > 0 && time_ratio_after > 0 ? time_ratio_after / time_ratio_before : 1;
  }
  bool is_slower() const { return same_class && time_change() > named_time_change; }
  bool is_faster() const { return same_class && time_change() < 1 / named_time_change; }
  bool differs() const {
    return verdict_before != verdict_after || (measured && !bits_equal) || is_slower() ||
           is_faster();
  }
};

struct RunComparison {
  std::string before, after;
  std::vector<Change> changes;
  std::size_t only_before = 0, only_after = 0;
  bool all = false;  // shows also cases that did not change
};

// suite, case id without the ordinal of its device
using Key = std::pair<std::string, std::string>;

Result<std::map<Key, StoredOutcome>> outcomes_by_case(Store& store, const std::string& run_id) {
  auto outcomes = store.outcomes(run_id);
  if (!outcomes) return tl::unexpected(outcomes.error());
  std::map<Key, StoredOutcome> by_case;
  for (auto& stored : *outcomes) {
    Key key{stored.outcome.suite, series_id(stored.outcome.case_id)};
    by_case.emplace(std::move(key), std::move(stored));
  }
  return by_case;
}

Change change_of(const StoredOutcome& a, const StoredOutcome& b, const MachineClass& host_a,
                 const MachineClass& host_b) {
  const Outcome &before = a.outcome, &after = b.outcome;
  Change change;
  change.case_id = after.case_id;
  change.verdict_before = name(a.judgement.verdict),
  change.verdict_after = name(b.judgement.verdict);
  change.rms_before = before.errors.rms, change.rms_after = after.errors.rms;
  change.time_ratio_before = before.time_ratio, change.time_ratio_after = after.time_ratio;
  change.bits_equal = !before.output_digest.empty() && before.output_digest == after.output_digest;
  change.build_equal = before.description.build_id == after.description.build_id;
  change.measured = !before.output_digest.empty() && !after.output_digest.empty();
  change.time_ns_before = before.time_ns, change.time_ns_after = after.time_ns;
  const MachineClass class_a = class_of(before, host_a), class_b = class_of(after, host_b);
  change.same_class = class_a == class_b;
  change.class_before = describe(class_a), change.class_after = describe(class_b);
  change.options_before = before.provider_options, change.options_after = after.provider_options;
  return change;
}

Result<RunComparison> compare_runs(const CompareOptions& options, Store& store) {
  auto before_id = store.resolve_run(options.before), after_id = store.resolve_run(options.after);
  if (!before_id) return tl::unexpected(before_id.error());
  if (!after_id) return tl::unexpected(after_id.error());
  auto before = outcomes_by_case(store, *before_id), after = outcomes_by_case(store, *after_id);
  if (!before) return tl::unexpected(before.error());
  if (!after) return tl::unexpected(after.error());
  const auto run_before = store.run(*before_id), run_after = store.run(*after_id);
  if (!run_before) return tl::unexpected(run_before.error());
  if (!run_after) return tl::unexpected(run_after.error());
  RunComparison result{*before_id, *after_id, {}, before->size(), 0};
  for (const auto& [key, b] : *after) {
    const auto found = before->find(key);
    if (found == before->end()) {
      ++result.only_after;
      continue;
    }
    --result.only_before;
    const auto& a = found->second;
    result.changes.push_back(change_of(a, b, run_before->info.machine, run_after->info.machine));
  }
  return result;
}

std::string ratio(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.3f}", after / before) : "";
}

std::string spoken(const std::string& verdict) {
  const auto parsed = parse<Verdict>(verdict);
  return parsed ? std::string(in_words(*parsed)) : verdict;
}

std::string verdicts(const Change& change) {
  const std::string before = spoken(change.verdict_before), after = spoken(change.verdict_after);
  return before == after ? after : before + " -> " + after;
}

std::string times(const Change& change) {
  if (!change.same_class || !(change.time_ns_before > 0) || !(change.time_ns_after > 0)) return "";
  return fmt::format("{} -> {}", duration(change.time_ns_before), duration(change.time_ns_after));
}

std::string as_text(const RunComparison& comparison, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  std::size_t bits_equal = 0, slower = 0, faster = 0;
  for (const auto& change : comparison.changes) {
    bits_equal += change.bits_equal;
    slower += change.is_slower();
    faster += change.is_faster();
    if (!comparison.all && !change.differs()) continue;
    rows.push_back(
        {change.case_id, verdicts(change),
         !change.measured    ? ""
         : change.bits_equal ? "equal"
                             : "differ",
         ratio(change.rms_before, change.rms_after), times(change),
         change.same_class ? ratio(change.time_ratio_before, change.time_ratio_after) : ""});
  }
  std::string text;
  if (!rows.empty())
    text =
        render_table({"case", "verdict", "bits", "rms ratio", "time", "time ratio"}, rows, style);
  text += fmt::format("{} cases in both runs, {} with equal bits; {} only in {}, {} only in {}\n",
                      comparison.changes.size(), bits_equal, comparison.only_before,
                      comparison.before.substr(0, 8), comparison.only_after,
                      comparison.after.substr(0, 8));
  const auto& changes = comparison.changes;
  const auto has_other_options = [](const Change& c) {
    return c.options_before != c.options_after;
  };
  const auto other = std::count_if(changes.begin(), changes.end(), has_other_options);
  if (other > 0) {
    const Change& first = *std::find_if(changes.begin(), changes.end(), has_other_options);
    text += fmt::format("{} with other provider options: \"{}\" in {}, \"{}\" in {}\n", other,
                        first.options_before, comparison.before.substr(0, 8), first.options_after,
                        comparison.after.substr(0, 8));
  }
  return text +
         fmt::format(
             "time, over that of the sentinel: {} slower and {} faster by more than {:.0f} %\n",
             slower, faster, 100 * (named_time_change - 1));
}

std::string as_json(const RunComparison& comparison) {
  Json cases = Json::array();
  for (const auto& c : comparison.changes) {
    cases.push_back({{"case", c.case_id},
                     {"verdict_before", c.verdict_before},
                     {"verdict_after", c.verdict_after},
                     {"rms_before", json_value(c.rms_before)},
                     {"rms_after", json_value(c.rms_after)},
                     {"time_ratio_before", json_value(c.time_ratio_before)},
                     {"time_ratio_after", json_value(c.time_ratio_after)},
                     {"time_ns_before", json_value(c.time_ns_before)},
                     {"time_ns_after", json_value(c.time_ns_after)},
                     {"slower", c.is_slower()},
                     {"faster", c.is_faster()},
                     {"machine_before", c.class_before},
                     {"machine_after", c.class_after},
                     {"provider_options_before", c.options_before},
                     {"provider_options_after", c.options_after},
                     {"bits_equal", c.bits_equal},
                     {"build_equal", c.build_equal}});
  }
  return json_text({{"before", comparison.before},
                    {"after", comparison.after},
                    {"only_before", comparison.only_before},
                    {"only_after", comparison.only_after},
                    {"cases", std::move(cases)}});
}

constexpr std::array formats{Format<RunComparison>{"text", as_text},
                             Format<RunComparison>{"json", nullptr, as_json}};

// Times of two kinds of machines say nothing of a kernel, and bits may differ by right.
std::optional<int> refuse_other_classes(const CompareOptions& options,
                                        const RunComparison& comparison) {
  if (options.any_machine) return std::nullopt;
  const auto other = [](const Change& change) { return !change.same_class; };
  const auto count = std::count_if(comparison.changes.begin(), comparison.changes.end(), other);
  if (count == 0) return std::nullopt;
  const auto& first = *std::find_if(comparison.changes.begin(), comparison.changes.end(), other);
  return report_errors(
      {{"", 0,
        fmt::format("{} of {} cases ran on another machine class: \"{}\" in {}, \"{}\" in {}",
                    count, comparison.changes.size(), first.class_before,
                    comparison.before.substr(0, 8), first.class_after,
                    comparison.after.substr(0, 8)),
        "compare runs of one class; --any-machine compares verdicts, bits and errors all the same, "
        "and no times"}},
      exit_not_comparable);
}

int compare_command(const CompareOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto comparison = compare_runs(options, **store);
  if (!comparison) return report_errors(comparison.error(), exit_usage);
  if (comparison->changes.empty()) {
    return report_errors({{"", 0, "the two runs have no case in common",
                           "choose runs of the same suites: `plumbline query runs`"}},
                         exit_not_comparable);
  }
  if (auto refused = refuse_other_classes(options, *comparison)) return *refused;
  comparison->all = options.all;
  write_as(formats, options.format, *comparison);
  for (const auto& change : comparison->changes) {
    const auto verdict = parse<Verdict>(change.verdict_after);
    const auto before = parse<Verdict>(change.verdict_before);
    if (verdict && is_failure(*verdict) && !(before && is_failure(*before))) return exit_failure;
  }
  return exit_fine;
}

}  // namespace

void add_compare(Command app, int& exit_code) {
  const Command command = app.add_subcommand("compare", "Compare two stored runs case by case");
  auto options = std::make_shared<CompareOptions>();
  command.add_option("before", options->before, "Run id, unique prefix, latest or latest~N")
      .capture_default_str();
  command.add_option("after", options->after, "The later run").capture_default_str();
  options->database.add_to(command);
  command.add_flag("--all", options->all, "Also cases that did not change");
  command.add_flag("--any-machine", options->any_machine,
                   "Also cases that ran on other machine classes; their times are not compared");
  add_format(command, options->format, formats);
  command.footer(
      "Example:\n  plumbline compare latest~1 latest\nExit 1 if a case that was fine fails now, 6 "
      "if the runs share no case,\nor if cases "
      "ran on other "
      "machine classes.");
  command.callback([options, &exit_code] { exit_code = compare_command(*options); });
}

}  // namespace plumbline::cli
