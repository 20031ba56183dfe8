// Writes a run as a Prometheus text file, for a node exporter's textfile collector or a pushgateway
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/report/tally.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// Backslashes, quotes and line ends are all that a label's value may not hold as they are.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    if (c == '\\' || c == '"') value += '\\';
    value += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return value;
}

std::string number_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{:.9g}", value);
}

void add_head(std::string& text, std::string_view name, std::string_view help) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

// What a sample of several cases is told by.
using Place = std::tuple<std::string, std::string, std::string, std::string>;

Place place_of(const RunReport& report, const Outcome& outcome) {
  const std::string arch = arch_of(outcome);
  return {outcome.suite, outcome.c.kernel, std::string(name(outcome.c.problem.dtype)),
          arch.empty() ? report.run->machine.arch : arch};
}

std::string labels_of(const Place& place) {
  const auto& [suite, kernel, dtype, arch] = place;
  return fmt::format("suite=\"{}\",kernel=\"{}\",dtype=\"{}\",arch=\"{}\"", label_value(suite),
                     label_value(kernel), label_value(dtype), label_value(arch));
}

void add_cases(std::string& text, const RunReport& report) {
  std::map<std::pair<Place, Verdict>, std::size_t> counts;
  std::map<Place, double> worst;
  for (const auto& [outcome, judgement] : *report.outcomes) {
    const Place place = place_of(report, outcome);
    ++counts[{place, judgement.verdict}];
    if (outcome.status != Status::ok) continue;
    const auto [at, is_new] = worst.try_emplace(place, judgement.percent_of_limit);
    if (!is_new) at->second = worse(at->second, judgement.percent_of_limit);
  }
  add_head(text, "plumbline_cases", "Cases of the newest run by verdict.");
  for (const auto& [key, count] : counts) {
    text += fmt::format("plumbline_cases{{{},verdict=\"{}\"}} {}\n", labels_of(key.first),
                        name(key.second), count);
  }
  if (worst.empty()) return;
  add_head(text, "plumbline_worst_ratio_of_limit",
           "Largest error over its limit; above 1 a case fails.");
  for (const auto& [place, percent] : worst) {
    text += fmt::format("plumbline_worst_ratio_of_limit{{{}}} {}\n", labels_of(place),
                        number_of(percent / 100));
  }
}

// An alert on a time needs this beside it: such a time says nothing of the kernel.
void add_unjudged_times(std::string& text, const RunReport& report) {
  std::set<std::string> samples;  // each once, though a case may be there with other options
  for (const auto& [outcome, judgement] : *report.outcomes) {
    const std::string_view reason = outcome.timed ? unjudged_time(judgement) : "";
    if (reason.empty()) continue;
    samples.insert(
        fmt::format("plumbline_case_time_not_judged{{suite=\"{}\",case=\"{}\",reason=\"{}\"}} 1\n",
                    label_value(outcome.suite), label_value(outcome.case_id), reason));
  }
  if (samples.empty()) return;
  add_head(text, "plumbline_case_time_not_judged",
           "1 for each time that was set aside or has too little past to be judged.");
  for (const std::string& sample : samples) text += sample;
}

void add_times(std::string& text, const RunReport& report) {
  std::map<std::pair<std::string, std::string>, const Outcome*> timed;  // suite and case
  for (const auto& [outcome, judgement] : *report.outcomes)
    if (outcome.timed) timed[{outcome.suite, outcome.case_id}] = &outcome;
  if (timed.empty()) return;
  add_head(text, "plumbline_case_seconds", "Median time of one call.");
  for (const auto& [key, outcome] : timed) {
    text += fmt::format("plumbline_case_seconds{{suite=\"{}\",case=\"{}\"}} {}\n",
                        label_value(key.first), label_value(key.second),
                        number_of(outcome->time_ns * 1e-9));
  }
  add_head(text, "plumbline_case_sentinel_ratio",
           "Time of one call over that of the sentinel beside it, which nights are compared by.");
  for (const auto& [key, outcome] : timed) {
    text += fmt::format("plumbline_case_sentinel_ratio{{suite=\"{}\",case=\"{}\"}} {}\n",
                        label_value(key.first), label_value(key.second),
                        number_of(outcome->time_ratio));
  }
  add_unjudged_times(text, report);
}

}  // namespace

std::string render_prometheus(const RunReport& report) {
  const RunCounts counts = counts_of(report);
  std::string text;
  add_head(text, "plumbline_run_info", "Which run this is.");
  text += fmt::format(
      "plumbline_run_info{{run_id=\"{}\",night=\"{}\",commit=\"{}\",machine=\"{}\"}} 1\n",
      label_value(report.run->run_id), label_value(report.run->night_id),
      label_value(report.run->commit), label_value(report.run->machine.model));
  add_head(text, "plumbline_run_exit_code",
           "0 fine, 1 failure, 3 incomplete, 4 nothing measured, 5 open.");
  text += fmt::format("plumbline_run_exit_code {}\n", report.exit_code);
  add_head(text, "plumbline_run_state", "1 for the state of the newest run, 0 for the others.");
  for (const RunState state : all<RunState>()) {
    text += fmt::format("plumbline_run_state{{state=\"{}\"}} {}\n", name(state),
                        state == report.state() ? 1 : 0);
  }
  add_head(text, "plumbline_run_missing_cases", "Planned cases that an incomplete run lacks.");
  text += fmt::format("plumbline_run_missing_cases {}\n", report.incomplete.missing_cases);
  add_head(text, "plumbline_run_clock_behind_seconds",
           "How far the clock was behind the newest run of the database.");
  text +=
      fmt::format("plumbline_run_clock_behind_seconds {}\n", number_of(report.run->clock_behind_s));
  add_head(text, "plumbline_run_failures",
           "Failing cases, diffs, invariances, suite statistics and changes.");
  text += fmt::format("plumbline_run_failures {}\n", counts.failures());
  add_cases(text, report);
  add_times(text, report);
  return text;
}

}  // namespace plumbline
