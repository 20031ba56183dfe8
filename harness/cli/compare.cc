// plumbline compare: two runs, case by case.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

struct CompareOptions {
  DatabaseOption database;
  std::string before = "latest~1", after = "latest", format = "text";
  bool all = false;
};

struct Change {
  std::string case_id, verdict_before, verdict_after;
  double rms_before = 0, rms_after = 0, time_ratio_before = 0, time_ratio_after = 0;
  bool bits_equal = false, build_equal = false;
  bool measured = false;  // both sides have an output
  bool differs() const { return verdict_before != verdict_after || (measured && !bits_equal); }
};

struct RunComparison {
  std::string before, after;
  std::vector<Change> changes;
  std::size_t only_before = 0, only_after = 0;
};

using Key = std::pair<std::string, std::string>;  // suite, case id

Result<std::map<Key, StoredOutcome>> outcomes_by_case(Store& store, const std::string& run_id) {
  auto outcomes = store.outcomes(run_id);
  if (!outcomes) return tl::unexpected(outcomes.error());
  std::map<Key, StoredOutcome> by_case;
  for (auto& stored : *outcomes) {
    Key key{stored.outcome.suite, stored.outcome.case_id};
    by_case.emplace(std::move(key), std::move(stored));
  }
  return by_case;
}

Result<RunComparison> compare_runs(const CompareOptions& options, Store& store) {
  auto before_id = store.resolve_run(options.before), after_id = store.resolve_run(options.after);
  if (!before_id) return tl::unexpected(before_id.error());
  if (!after_id) return tl::unexpected(after_id.error());
  auto before = outcomes_by_case(store, *before_id), after = outcomes_by_case(store, *after_id);
  if (!before) return tl::unexpected(before.error());
  if (!after) return tl::unexpected(after.error());
  RunComparison result{*before_id, *after_id, {}, before->size(), 0};
  for (const auto& [key, b] : *after) {
    const auto found = before->find(key);
    if (found == before->end()) {
      ++result.only_after;
      continue;
    }
    --result.only_before;
    const auto& a = found->second;
    result.changes.push_back({key.second, std::string(name(a.judgement.verdict)), std::string(name(b.judgement.verdict)),
                              a.outcome.errors.rms, b.outcome.errors.rms, a.outcome.time_ratio, b.outcome.time_ratio,
                              !a.outcome.output_digest.empty() && a.outcome.output_digest == b.outcome.output_digest,
                              a.outcome.description.build_id == b.outcome.description.build_id,
                              !a.outcome.output_digest.empty() && !b.outcome.output_digest.empty()});
  }
  return result;
}

std::string ratio(double before, double after) { return before > 0 && after > 0 ? fmt::format("{:.3f}", after / before) : ""; }

std::string as_text(const RunComparison& comparison, bool all) {
  std::vector<std::vector<std::string>> rows;
  std::size_t bits_equal = 0;
  for (const auto& change : comparison.changes) {
    bits_equal += change.bits_equal;
    if (!all && !change.differs()) continue;
    const std::string verdict =
        change.verdict_before == change.verdict_after ? change.verdict_after : change.verdict_before + " -> " + change.verdict_after;
    rows.push_back({change.case_id, verdict,
                    !change.measured    ? ""
                    : change.bits_equal ? "equal"
                                        : "differ",
                    ratio(change.rms_before, change.rms_after), ratio(change.time_ratio_before, change.time_ratio_after)});
  }
  std::string text;
  if (!rows.empty()) text = render_table({"case", "verdict", "bits", "rms ratio", "time ratio"}, rows, output_style());
  return text + fmt::format("{} cases in both runs, {} with equal bits; {} only in {}, {} only in {}\n", comparison.changes.size(),
                            bits_equal, comparison.only_before, comparison.before.substr(0, 8), comparison.only_after,
                            comparison.after.substr(0, 8));
}

std::string as_json(const RunComparison& comparison) {
  nlohmann::ordered_json cases = nlohmann::json::array();
  for (const auto& c : comparison.changes) {
    cases.push_back({{"case", c.case_id},
                     {"verdict_before", c.verdict_before},
                     {"verdict_after", c.verdict_after},
                     {"rms_before", c.rms_before},
                     {"rms_after", c.rms_after},
                     {"time_ratio_before", c.time_ratio_before},
                     {"time_ratio_after", c.time_ratio_after},
                     {"bits_equal", c.bits_equal},
                     {"build_equal", c.build_equal}});
  }
  return nlohmann::ordered_json{{"before", comparison.before},
                                {"after", comparison.after},
                                {"only_before", comparison.only_before},
                                {"only_after", comparison.only_after},
                                {"cases", cases}}
             .dump(1) +
         "\n";
}

int compare_command(const CompareOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto comparison = compare_runs(options, **store);
  if (!comparison) return report_errors(comparison.error(), exit_usage);
  if (comparison->changes.empty()) {
    return report_errors({{"", 0, "the two runs have no case in common", "choose runs of the same suites: `plumbline query runs`"}},
                         exit_not_comparable);
  }
  fmt::print("{}", options.format == "json" ? as_json(*comparison) : as_text(*comparison, options.all));
  for (const auto& change : comparison->changes) {
    const auto verdict = parse_verdict(change.verdict_after);
    const auto before = parse_verdict(change.verdict_before);
    if (verdict && is_failure(*verdict) && !(before && is_failure(*before))) return exit_failure;
  }
  return exit_fine;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("compare", "Compare two stored runs case by case");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("before", options->before, "Run id, unique prefix, latest or latest~N")->capture_default_str();
  command->add_option("after", options->after, "The later run")->capture_default_str();
  options->database.add_to(*command);
  command->add_flag("--all", options->all, "Also cases that did not change");
  command->add_option("--format", options->format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  command->footer("Example:\n  plumbline compare latest~1 latest\nExit 1 if a case that was fine fails now, 6 if the runs share no case.");
  command->callback([options, &exit_code] { exit_code = compare_command(*options); });
}

}  // namespace plumbline::cli
