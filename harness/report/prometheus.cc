// Renders a run in Prometheus' text format, for a node exporter's textfile collector or a
// pushgateway (https://prometheus.io/docs/instrumenting/exposition_formats/).
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

// A label value must escape backslashes, quotes and line ends, and nothing else.
std::string label_value(std::string_view text) {
  return escaped(text, [](char c) {
    return c == '\\' ? "\\\\" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : "";
  });
}

// Returns {suite="smoke",case="…"}.
std::string labels(std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
  std::string text;
  for (const auto& [name, value] : list)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", name, label_value(value));
  return text + "}";
}

std::string number_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{:.9g}", value);
}

class Metrics {
 public:
  void begin(std::string_view name, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  }
  // Adds a sample to the metric that begin() named.
  template <class Value>
  void add(const std::string& labels, const Value& value) {
    text_ += fmt::format("{}{} {}\n", name_, labels, value);
  }
  // Adds a metric with one sample.
  template <class Value>
  void add(std::string_view name, std::string_view help, const Value& value) {
    begin(name, help);
    add("", value);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

// Labels of a sample that counts several cases: suite, kernel, dtype, architecture.
using CaseLabels = std::tuple<std::string, std::string, std::string, std::string>;

CaseLabels place_of(const RunReport& report, const Outcome& outcome) {
  return {outcome.suite, outcome.c.kernel, std::string(name(outcome.c.problem.dtype)),
          arch_of(outcome, *report.run)};
}

void add_cases(Metrics& metrics, const RunReport& report) {
  std::map<std::pair<CaseLabels, Verdict>, std::size_t> counts;
  std::map<CaseLabels, double> worst;
  for (const auto& [outcome, judgement] : *report.outcomes) {
    const CaseLabels place = place_of(report, outcome);
    ++counts[{place, judgement.verdict}];
    if (outcome.status != Status::ok) continue;
    const auto [at, is_new] = worst.try_emplace(place, judgement.percent_of_limit);
    if (!is_new) at->second = worse(at->second, judgement.percent_of_limit);
  }
  metrics.begin("plumbline_cases", "Cases of the newest run by verdict.");
  for (const auto& [key, count] : counts) {
    const auto& [suite, kernel, dtype, arch] = key.first;
    metrics.add(labels({{"suite", suite},
                        {"kernel", kernel},
                        {"dtype", dtype},
                        {"arch", arch},
                        {"verdict", name(key.second)}}),
                count);
  }
  if (worst.empty()) return;
  metrics.begin("plumbline_worst_ratio_of_limit",
                "Largest error over its limit; above 1 a case fails.");
  for (const auto& [place, percent] : worst) {
    const auto& [suite, kernel, dtype, arch] = place;
    metrics.add(labels({{"suite", suite}, {"kernel", kernel}, {"dtype", dtype}, {"arch", arch}}),
                number_of(percent / 100));
  }
}

// Alerts on times need this metric, because an unjudged time says nothing about the kernel.
void add_unjudged_times(Metrics& metrics, const RunReport& report) {
  std::set<std::string> samples;  // a set, because a case may occur with several options
  for (const auto& [outcome, judgement] : *report.outcomes) {
    const std::string_view reason = outcome.timed ? unjudged_time(judgement) : "";
    if (!reason.empty())
      samples.insert(
          labels({{"suite", outcome.suite}, {"case", outcome.case_id}, {"reason", reason}}));
  }
  if (samples.empty()) return;
  metrics.begin("plumbline_case_time_not_judged",
                "1 for each time that was set aside or has too little past to be judged.");
  for (const std::string& sample : samples) metrics.add(sample, 1);
}

void add_times(Metrics& metrics, const RunReport& report) {
  std::map<std::pair<std::string, std::string>, const Outcome*> timed;  // suite and case
  for (const auto& [outcome, judgement] : *report.outcomes)
    if (outcome.timed) timed[{outcome.suite, outcome.case_id}] = &outcome;
  if (timed.empty()) return;
  const auto add_each = [&](double Outcome::*time, double unit) {
    for (const auto& [key, outcome] : timed)
      metrics.add(labels({{"suite", key.first}, {"case", key.second}}),
                  number_of(outcome->*time * unit));
  };
  metrics.begin("plumbline_case_seconds", "Median time of one call.");
  add_each(&Outcome::time_ns, 1e-9);
  metrics.begin("plumbline_case_sentinel_ratio",
                "Time of one call over that of the sentinel; nights are compared by this ratio.");
  add_each(&Outcome::time_ratio, 1);
  add_unjudged_times(metrics, report);
}

}  // namespace

std::string render_prometheus(const RunReport& report) {
  const RunInfo& run = *report.run;
  Metrics metrics;
  metrics.begin("plumbline_run_info", "1, with the newest run's id, night, commit and machine.");
  metrics.add(labels({{"run_id", run.run_id},
                      {"night", run.night_id},
                      {"commit", run.commit},
                      {"machine", run.machine.model}}),
              1);
  metrics.add("plumbline_run_exit_code",
              "0 fine, 1 failure, 3 incomplete, 4 nothing measured, 5 open.", report.exit_code);
  metrics.begin("plumbline_run_state", "1 for the state of the newest run, 0 for the others.");
  for (const RunState state : all<RunState>())
    metrics.add(labels({{"state", name(state)}}), state == report.state() ? 1 : 0);
  metrics.add("plumbline_run_missing_cases", "Planned cases that an incomplete run lacks.",
              report.incomplete.missing_cases);
  metrics.add("plumbline_run_clock_behind_seconds",
              "Seconds by which the clock was behind the newest run of the database.",
              number_of(run.clock_behind_s));
  metrics.add("plumbline_run_failures",
              "Failing cases, diffs, invariances, suite statistics and changes.",
              counts_of(report).failures());
  add_cases(metrics, report);
  add_times(metrics, report);
  return std::move(metrics).text();
}

}  // namespace plumbline
