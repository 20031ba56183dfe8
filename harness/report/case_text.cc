// Renders one outcome or diff in full, with how to repeat it, for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// An expected or acknowledged failure is no bad news, but who looks at it wants to know what fails.
bool shows_failure(Verdict verdict) {
  return is_failure(verdict) || verdict == Verdict::expected_failure ||
         verdict == Verdict::acknowledged;
}

std::string nearest(const Judgement& judgement) {
  if (judgement.nearest_statistic.empty()) return "";
  return fmt::format("{} of the limit ({})", percent(judgement.percent_of_limit),
                     judgement.nearest_statistic);
}

std::string worst_lines(const Outcome& outcome, const Style& style) {
  const WorstElement& worst = *outcome.worst;
  const double error = worst.got - worst.expected;
  std::string text =
      labelled("worst",
               fmt::format("{}: {}, {}", outcome.worst_statistic, at(worst.element),
                           plural(static_cast<std::size_t>(worst.visible_keys), "visible key")),
               style);
  // The LSE has no column, no output ulp and no shares.
  const bool is_lse = worst.element.column < 0;
  text += labelled("",
                   fmt::format("got {:.9g}, expected {:.9g}, error {:.4g}: {:.3g} sigma{}",
                               worst.got, worst.expected, error, error / worst.sigma,
                               is_lse ? "" : fmt::format(", {:.3g} ulp", error / worst.ulp)),
                   style);
  return text + labelled("sigma",
                         fmt::format("{:.3g} there{}", worst.sigma,
                                     is_lse ? "" : ": " + shares(worst.share)),
                         style);
}

std::string error_line(const Outcome& outcome, const Style& style) {
  const ErrorStatistics& errors = outcome.errors;
  const std::string text = fmt::format(
      "{}; largest {}, mean {}; outside allclose 1e-3: {:.2g} %, 1e-2: {:.2g} %; {} elements, {} "
      "of "
      "{} rows",
      statistics_text(errors), number(errors.max_abs), number(errors.mean_abs),
      100 * errors.outside_allclose_1e3, 100 * errors.outside_allclose_1e2, errors.elements,
      outcome.reference_rows, outcome.rows_total);
  return labelled("error", text, style);
}

std::string launched_line(const Description& description, const Style& style) {
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
  return labelled("launched", text, style);
}

std::string measured_lines(const StoredOutcome& stored, const Style& style) {
  const Outcome& outcome = stored.outcome;
  std::string text;
  if (const std::string near = nearest(stored.judgement); !near.empty())
    text += labelled("judged", near, style);
  if (outcome.worst && shows_failure(stored.judgement.verdict)) text += worst_lines(outcome, style);
  text += error_line(outcome, style);
  if (!outcome.location.description.empty())
    text += labelled("where", outcome.location.description, style);
  if (!outcome.looser_rung.empty())
    text += labelled("looser", "would be explained by " + outcome.looser_rung, style);
  if (outcome.timed) {
    std::string time = fmt::format("{} (MAD {}), {} of the sentinel", duration(outcome.time_ns),
                                   duration(outcome.time_mad_ns), number(outcome.time_ratio));
    if (outcome.times.flops_per_second > 0)
      time += fmt::format("; {} GFLOP/s", number(outcome.times.flops_per_second / 1e9));
    if (outcome.times.flops_share > 0)
      time += fmt::format(" ({:.3g} % of a thread's peak)", 100 * outcome.times.flops_share);
    if (outcome.peak_memory_bytes >= 0)
      time += fmt::format("; {:.2f} MB of memory",
                          static_cast<double>(outcome.peak_memory_bytes) / 1e6);
    text += labelled("time", time, style);
  }
  return text;
}

std::string judgement_lines(const Judgement& judgement, const Style& style) {
  std::string text;
  std::string_view label = "why";
  for (const Finding& finding : judgement.findings)
    text += labelled(std::exchange(label, ""), finding.text, style);
  for (const std::string& note : judgement.notes) text += labelled("note", note, style);
  return text;
}

std::string difference_lines(const DiffOutcome& diff, const Style& style) {
  std::string text =
      labelled("largest",
               fmt::format("{}, {} ulp at {}; mean {}; {} of the legal standard deviations at most",
                           number(diff.max_abs), number(diff.max_ulp), at(diff.max_abs_element),
                           number(diff.mean_abs), number(diff.max_sigma)),
               style);
  text +=
      labelled("relative",
               fmt::format("{} at most, where |expected| is {} and the output's rms {}; mean {}",
                           number(diff.max_rel), number(diff.max_rel_expected),
                           number(diff.rms_output), number(diff.mean_rel)),
               style);
  text += labelled(
      "bits",
      fmt::format("{:.4g} % of {} elements equal, {} of {} heads entirely",
                  100 * diff.bit_equal_share, diff.elements, diff.heads_bit_equal, diff.heads),
      style);
  text += labelled(
      "fp64", fmt::format("rms error of a {}, of b {}", number(diff.rms_a), number(diff.rms_b)),
      style);
  if (diff.time_ns_a > 0 && diff.time_ns_b > 0) {
    text +=
        labelled("time",
                 fmt::format("a {}, b {}: a takes {:.3f} times as long", duration(diff.time_ns_a),
                             duration(diff.time_ns_b), diff.time_ns_a / diff.time_ns_b),
                 style);
  }
  return text;
}

}  // namespace

std::string render_case(const StoredOutcome& stored, const std::string& reproduce_command,
                        const Style& style) {
  const auto& [outcome, judgement] = stored;
  std::string text = fmt::format(
      "{}  {}\n", coloured(in_words(judgement.verdict), judgement.verdict, style), outcome.case_id);
  if (shows_failure(judgement.verdict) && !outcome.cause.empty())
    text += "  " + wrapped(outcome.cause, 2, style) + "\n";
  text += judgement_lines(judgement, style);
  text += labelled("suite", fmt::format("{}/{}", outcome.suite, outcome.group), style);
  if (!outcome.provider_options.empty())
    text += labelled("options", outcome.provider_options, style);
  if (outcome.status == Status::ok) text += measured_lines(stored, style);
  if (!outcome.description.launched.empty()) text += launched_line(outcome.description, style);
  if (!outcome.reused_from.empty()) {
    text +=
        labelled("reused",
                 fmt::format("from {}: without tensor cores the bits are those of any architecture",
                             outcome.reused_from),
                 style);
  }
  if (!outcome.saved_to.empty()) text += labelled("saved to", outcome.saved_to, style);
  if (shows_failure(judgement.verdict) || judgement.verdict == Verdict::ambiguous) {
    text +=
        fmt::format("reproduce: {}{} --case {}\n", reproduce_command,
                    outcome.row_seed == 0 ? "" : fmt::format(" --row-seed {}", outcome.row_seed),
                    shell_quoted(outcome.case_id));
  }
  return text + "\n";
}

std::string render_diff(const StoredDiff& stored, const Style& style) {
  const auto& [diff, judgement] = stored;
  std::string text =
      fmt::format("{}  {}/{}\n", coloured(in_words(judgement.verdict), judgement.verdict, style),
                  diff.suite, diff.name);
  text += labelled("a", diff.case_a, style) + labelled("b", diff.case_b, style);
  text += judgement_lines(judgement, style);
  if (diff.status == Status::ok) text += difference_lines(diff, style);
  return text + "\n";
}

}  // namespace plumbline
