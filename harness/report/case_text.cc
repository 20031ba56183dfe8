// Renders one outcome or diff, with the command that repeats it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/contract/run_target.h"
#include "harness/problem/rounding_spec.h"
#include "harness/report/failure_groups.h"
#include "harness/report/format.h"
#include "harness/report/layout.h"
#include "harness/report/report.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// Tolerated failures fail no run, but their report still has to show what fails.
bool shows_failure(Verdict verdict) { return is_failure(verdict) || is_tolerated(verdict); }

std::string nearest(const Judgement& judgement) {
  if (judgement.nearest_statistic.empty()) return "";
  return fmt::format("{} of the limit ({})", percent(judgement.percent_of_limit),
                     judgement.nearest_statistic);
}

std::string figures_text(const StoredOutcome& stored) {
  const ErrorStatistics& errors = stored.outcome.errors;
  const std::string near = nearest(stored.judgement);
  return fmt::format("{}{}{}; largest error {}, mean {}", near, near.empty() ? "" : ": ",
                     statistics_text(errors), number(errors.max_abs), number(errors.mean_abs));
}

std::string launched_text(const Description& description) {
  std::string text = description.launched;
  if (!description.build_id.empty()) text += fmt::format(" (build {})", description.build_id);
  text += fmt::format(", tensor cores {}", description.tensor_cores);
  if (description.registers_per_thread >= 0)
    text += fmt::format(", {} registers", description.registers_per_thread);
  if (description.spill_bytes_per_thread > 0)
    text += fmt::format(", {} bytes spilled", description.spill_bytes_per_thread);
  if (description.shared_memory_bytes >= 0) {
    text += fmt::format(", {:.2f} KB shared memory",
                        static_cast<double>(description.shared_memory_bytes) / 1000);
  }
  return text;
}

std::string time_text(const Outcome& outcome) {
  std::string time = fmt::format("{} (MAD {}), {} of the sentinel", duration(outcome.time_ns),
                                 duration(outcome.time_mad_ns), number(outcome.time_ratio));
  if (outcome.times.flops_per_second > 0)
    time += fmt::format("; {} GFLOP/s", number(outcome.times.flops_per_second / 1e9));
  if (outcome.times.flops_share > 0)
    time += fmt::format(" ({:.3g} % of a thread's peak)", 100 * outcome.times.flops_share);
  if (outcome.peak_memory_bytes >= 0)
    time +=
        fmt::format("; {:.2f} MB of memory", static_cast<double>(outcome.peak_memory_bytes) / 1e6);
  return time;
}

// Explains the sigma of the worst element.
std::string sigma_text(const Outcome& outcome) {
  const WorstElement& worst = *outcome.worst;
  const double error = worst.got - worst.expected;
  const std::string keys = plural(static_cast<std::size_t>(worst.visible_keys), "visible key");
  // Outputs per row have no column, no ulp and no shares of sigma.
  if (worst.element.column < 0) return fmt::format("{:.3g} there, with {}", worst.sigma, keys);
  return fmt::format("{:.3g} there, with {}: {}; the error is {:.4g}, {:.3g} ulp", worst.sigma,
                     keys, shares(worst.share), error, error / worst.ulp);
}

std::string shares_outside_text(const ErrorStatistics& errors) {
  return fmt::format("allclose 1e-3: {:.2g} %, 1e-2: {:.2g} %; {} elements",
                     100 * errors.outside_allclose_1e3, 100 * errors.outside_allclose_1e2,
                     errors.elements);
}

// Splits a message after its first line. The rest is, for example, an exception's traceback.
std::pair<std::string, std::string> first_line(const std::string& text) {
  const auto end = text.find('\n');
  if (end == std::string::npos) return {text, ""};
  return {text.substr(0, end), text.substr(end + 1)};
}

class CaseReport {
 public:
  CaseReport(const StoredOutcome& stored, const std::string& reproduce_command)
      : stored_(stored), outcome_(stored.outcome), judgement_(stored.judgement) {
    report_.verdict = in_words(judgement_.verdict);
    report_.colour_of = judgement_.verdict;
    report_.subject = outcome_.case_id;
    const auto [cause, rest] = first_line(cause_in_full());
    report_.cause = cause;
    add("", rest, 8);
    report_.judged = judged();
    add_findings();
    if (outcome_.status == Status::ok) add_measured();
    add_setting();
    if (shows_failure(judgement_.verdict) || needs_attention(judgement_.verdict)) {
      report_.command_label = "reproduce";
      report_.command = reproduce_line(reproduce_command, outcome_);
    }
  }
  OutputReport take() && { return std::move(report_); }

 private:
  void add(const char* label, std::string line, int weight) {
    report_.add(label, std::move(line), weight);
  }
  void add_more(const char* label, const std::string& line) {
    if (!line.empty()) report_.more.push_back({label, {line}});
  }

  std::string cause_in_full() const {
    const bool failed = shows_failure(judgement_.verdict);
    if (failed && !outcome_.cause.empty()) return outcome_.cause;
    if (outcome_.status != Status::ok && !outcome_.reason.empty()) return outcome_.reason;
    if (!judgement_.findings.empty()) return judgement_.findings.front().text;
    if (const std::string near = nearest(judgement_); !near.empty()) return near;
    return judgement_.notes.empty() ? "nothing was compared" : judgement_.notes.front();
  }

  std::string judged() const {
    if (outcome_.status != Status::ok) return "no row was compared";
    return rows_judged(outcome_.reference_rows, outcome_.rows_total) +
           (outcome_.errors.has_lse ? "" : ", no LSE");
  }

  // Skips findings and notes that repeat the cause.
  void add_findings() {
    const std::string cause = cause_in_full();
    std::vector<std::string> findings;
    for (const Finding& finding : judgement_.findings) {
      if (finding.text != cause) findings.push_back(finding.text);
    }
    if (!findings.empty()) report_.details.push_back({"why", std::move(findings), 5});
    std::vector<std::string> notes;
    for (const std::string& note : judgement_.notes) {
      // For example, the note "unsupported: " and the reason
      if (!note.ends_with(cause)) notes.push_back(note);
    }
    if (!notes.empty()) report_.details.push_back({"note", std::move(notes), 1});
  }

  void add_measured() {
    const bool failed = shows_failure(judgement_.verdict);
    add("figures", figures_text(stored_), 7);
    if (outcome_.worst && failed) {
      add("worst", element_in_words(*outcome_.worst), 6);
      add_more("sigma", sigma_text(outcome_));
    }
    add("where", outcome_.location.description, 6);
    if (!outcome_.looser_rung.empty())
      add("looser", "would be explained by " + outcome_.looser_rung, 4);
    if (outcome_.timed) add("time", time_text(outcome_), 3);
    add_more("outside", shares_outside_text(outcome_.errors));
  }

  void add_setting() {
    const Result<RoundingSpec> spec = parse_spec_text(outcome_.spec_judged);
    if (spec && !outcome_.spec_judged.empty())
      add("spec", describe(*spec, outcome_.c.problem, target_of(outcome_).arch), 2);
    add("suite", fmt::format("{}/{}", outcome_.suite, outcome_.group), 0);
    add("options", outcome_.provider_options, 2);
    add("saved to", outcome_.saved_to, 5);
    if (!outcome_.description.launched.empty())
      add_more("launched", launched_text(outcome_.description));
    if (!outcome_.reused_from.empty()) {
      add("reused",
          fmt::format("from {}: without tensor cores the bits are those of any architecture",
                      outcome_.reused_from),
          2);
    }
  }

  const StoredOutcome& stored_;
  const Outcome& outcome_;
  const Judgement& judgement_;
  OutputReport report_;
};

void add_difference(OutputReport& report, const DiffOutcome& diff) {
  report.add("largest",
             fmt::format("{}, {} ulp at {}; mean {}; at most {} legal standard deviations",
                         number(diff.max_abs), number(diff.max_ulp), at(diff.max_abs_element),
                         number(diff.mean_abs), number(diff.max_sigma)),
             5);
  report.add("relative",
             fmt::format("{} at most, where |expected| is {} and the output's rms {}; mean {}",
                         number(diff.max_rel), number(diff.max_rel_expected),
                         number(diff.rms_output), number(diff.mean_rel)),
             1);
  report.add(
      "bits",
      fmt::format("{:.4g} % of {} elements equal, {} of {} heads entirely",
                  100 * diff.bit_equal_share, diff.elements, diff.heads_bit_equal, diff.heads),
      3);
  report.add("fp64",
             fmt::format("rms error of a {}, of b {}", number(diff.rms_a), number(diff.rms_b)), 2);
  if (diff.time_ns_a > 0 && diff.time_ns_b > 0) {
    report.add("time",
               fmt::format("a {}, b {}: a takes {:.3f} times as long", duration(diff.time_ns_a),
                           duration(diff.time_ns_b), diff.time_ns_a / diff.time_ns_b),
               2);
  }
}

}  // namespace

std::string reproduce_line(const std::string& command, const Outcome& outcome) {
  return fmt::format("{}{}{} --case {}", command, outcome.timed ? " --timed" : "",
                     outcome.row_seed == 0 ? "" : fmt::format(" --row-seed {}", outcome.row_seed),
                     shell_quoted(outcome.case_id));
}

std::string render_case(const StoredOutcome& stored, const std::string& reproduce_command,
                        const Style& style) {
  return render(CaseReport(stored, reproduce_command).take(), style) + "\n";
}

std::string render_diff(const StoredDiff& stored, const Style& style) {
  const auto& [diff, judgement] = stored;
  OutputReport report;
  report.verdict = in_words(judgement.verdict);
  report.colour_of = judgement.verdict;
  const auto [cause, rest] = first_line(why(judgement));
  report.cause = cause.empty() ? "nothing was compared" : cause;
  report.subject = diff.suite + "/" + diff.name;
  report.judged = diff.status == Status::ok
                      ? fmt::format("{} compared with fp64",
                                    plural(static_cast<std::size_t>(diff.rows), "common row"))
                      : "no row was compared";
  report.details = {{"a", {diff.case_a}, 7}, {"b", {diff.case_b}, 7}};
  report.add("", rest, 6);
  if (diff.status == Status::ok) add_difference(report, diff);
  return render(report, style) + "\n";
}

}  // namespace plumbline
