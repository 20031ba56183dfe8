// Renders the result of `plumbline check` as text and as JSON.
#include "harness/report/check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/outcome/statistics_table.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

std::string problem_text(const Problem& problem, bool has_lse) {
  std::string text = fmt::format(
      "{}, batch {}, {} query heads over {} key heads, {} queries x {} keys, head dim {}",
      name(problem.dtype), problem.batch, problem.heads_q, problem.heads_kv, problem.seq_q,
      problem.seq_kv, problem.head_dim_qk);
  if (problem.head_dim_vo != problem.head_dim_qk) text += fmt::format("/{}", problem.head_dim_vo);
  text += fmt::format(", {}, mask {}, scale {:.6g}", name(problem.layout), name(problem.mask),
                      problem.softmax_scale());
  if (problem.window_left >= 0 || problem.window_right >= 0)
    text += fmt::format(", window {},{}", problem.window_left, problem.window_right);
  if (problem.lengths != Lengths::full) text += ", lengths differ";
  if (problem.softcap != 0) text += fmt::format(", softcap {:.6g}", problem.softcap);
  if (problem.alibi != Alibi::none) text += ", ALiBi";
  if (problem.sinks != Sinks::none) text += ", attention sinks";
  if (problem.kv() != problem.dtype) text += fmt::format(", K and V {}", name(problem.kv()));
  if (problem.scale_tokens() > 0)
    text += fmt::format(", a scale for each {} tokens", problem.scale_tokens());
  if (problem.out() != problem.dtype) text += fmt::format(", output {}", name(problem.out()));
  text += has_lse ? ", with LSE" : ", without LSE";
  return text;
}

// Returns "dk, dq". A style that is not verbose shows six names "and 3 more".
std::string names_shown(const std::vector<std::string>& names, const Style& style) {
  constexpr std::size_t most = 6;
  const std::size_t shown = style.verbose ? names.size() : std::min(most, names.size());
  const std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return shown == names.size() ? text : text + fmt::format(" and {} more", names.size() - shown);
}

// Returns report.not_judged, the rows outside the sample and the tensors with unknown names.
std::vector<NotJudged> all_not_judged(const CheckReport& report) {
  std::vector<NotJudged> all = report.not_judged;
  const ComparedOutput& outcome = report.judged_trial().outcome;
  if (outcome.reference_rows < outcome.rows_total) {
    all.push_back({"rows", outcome.rows_total - outcome.reference_rows, report.rows_given,
                   "outside the sample, searched only for faults"});
  }
  const auto& unknown = report.unused_tensors;
  if (!unknown.empty()) {
    all.push_back({"tensors", static_cast<std::int64_t>(unknown.size()),
                   static_cast<std::int64_t>(unknown.size()), "no tensor of this name is known",
                   unknown});
  }
  return all;
}

// Returns "percent of the limit: FlashInfer decode 4031 %, FlashAttention-2 68 % (explains)".
std::string ladder_text(const CheckReport& report) {
  std::string text;
  for (const RungTrial& trial : report.trials) {
    text += fmt::format("{}{} {}{}", text.empty() ? "percent of the limit: " : ", ",
                        trial.rung.name, percent(trial.percent_of_limit()),
                        trial.explains                     ? " (explains)"
                        : trial.outcome.faults.total() > 0 ? " (faults)"
                                                           : "");
  }
  return text;
}

// Returns "output off by +0.0021 % (limit 0.031 %)".
std::string scale_line(const ScaleTests& scale) {
  std::string text;
  const auto add = [&](const ScaleTest& test, std::string_view what) {
    if (!test.judged) return;
    text += fmt::format("{}{} off by {:+.2g} % (limit {:.2g} %)", text.empty() ? "" : ", ", what,
                        100 * test.effect, 100 * test.limit);
  };
  add(scale.shrink, "output");
  add(scale.temperature, "softmax scale");
  add(scale.lse, "softmax scale by the LSE");
  return text;
}

Json worst_json(const WorstElement& worst) {
  return {JSON_FIELDS(worst, element.sample, element.head, element.row, element.column, got,
                      expected, sigma, ulp),
          {"error_sigma", (worst.got - worst.expected) / worst.sigma},
          JSON_FIELDS(worst, visible_keys, share)};
}

Json scale_json(const ScaleTests& scale) {
  const auto test = [](const ScaleTest& of) {
    return of.judged ? Json{JSON_FIELDS(of, effect, limit)} : Json(nullptr);
  };
  return {JSON_FIELDS(scale, rows),
          JSON_FIELDS_BY(test, scale, shrink, temperature),
          {"lse_temperature", test(scale.lse)}};
}

Json trial_json(const RungTrial& trial) {
  const ErrorStatistics& errors = trial.outcome.errors;
  Json object = {{"rung", trial.rung.name},
                 JSON_FIELDS(trial.rung, rounds, source),
                 JSON_FIELDS_BY(spec_text, trial, rung.spec),
                 JSON_FIELDS(trial, explains, percent_of_limit(), judgement.nearest_statistic),
                 JSON_FIELDS_BY(scale_json, trial, scale),
                 JSON_FIELDS(trial, sigma_rms)};
  const auto add_statistics = [&](bool always_measured) {
    for (const Statistic& statistic : deciding_statistics) {
      const bool is_meant = (statistic.measured == nullptr) == always_measured;
      if (is_meant && is_measured(statistic, errors))
        object[statistic.column] = errors.*statistic.value;
    }
  };
  add_statistics(true);
  object["faults"] = trial.outcome.faults.total();
  add_statistics(false);
  object.update({JSON_FIELDS(trial.judgement, findings)});
  return object;
}

Json report_json(const CheckReport& report) {
  const RungTrial& judged = report.judged_trial();
  const double percent = judged.percent_of_limit();
  return {{"dump", report.name},
          JSON_FIELDS(report, answer),
          {"cause", report.suggestions.empty() ? "" : report.suggestions.front()},
          JSON_FIELDS(report, sentence),
          {"rung", judged.rung.name},
          {"percent_of_limit", report.trials.empty() ? Json() : Json(percent)},
          {"spec_stated", report.stated},
          {"problem", problem_id(report.problem)},
          {"rows_compared", judged.outcome.reference_rows},
          {"rows", judged.outcome.rows_total},
          JSON_FIELDS(report, rows_given),
          {"not_judged", json_value(all_not_judged(report))},
          {"where", judged.outcome.location.description},
          JSON_FIELDS(report, unused_tensors, notes, suggestions),
          {"ladder", json_list(report.trials, trial_json)},
          JSON_FIELDS_BY(list_of(worst_json), report, worst)};
}

constexpr std::size_t worst_shown = 3;

Detail worst_elements(const std::vector<WorstElement>& worst, std::size_t first, std::size_t last) {
  Detail detail{"worst", {}, 5};
  for (std::size_t i = first; i < std::min(last, worst.size()); ++i)
    detail.lines.push_back(element_in_words(worst[i]));
  return detail;
}

std::string figures_text(const RungTrial& judged) {
  const ErrorStatistics& errors = judged.outcome.errors;
  if (errors.elements == 0) return "";
  return fmt::format("{} of the limit ({}): {}; largest error {}, mean {}",
                     percent(judged.judgement.percent_of_limit), judged.judgement.nearest_statistic,
                     statistics_text(errors), number(errors.max_abs), number(errors.mean_abs));
}

// Details that only a verbose report shows.
std::vector<Detail> all_details(const CheckReport& report) {
  const RungTrial& judged = report.judged_trial();
  std::vector<Detail> more;
  const auto add = [&](const char* label, std::vector<std::string> lines) {
    std::erase_if(lines, [](const std::string& line) { return line.empty(); });
    if (!lines.empty()) more.push_back({label, std::move(lines)});
  };
  if (report.cause() != report.sentence) add("answer", {report.sentence});
  add("source", {judged.rung.source});
  add("ladder", {ladder_text(report)});
  std::vector<std::string> findings;
  for (const Finding& finding : judged.judgement.findings) findings.push_back(finding.text);
  add("why", std::move(findings));
  if (report.worst.size() > worst_shown)
    more.push_back(worst_elements(report.worst, worst_shown, report.worst.size()));
  if (!report.worst.empty()) {
    const WorstElement& first = report.worst.front();
    add("sigma", {fmt::format("{:.3g} at the worst element, with {}: {}", first.sigma,
                              plural(static_cast<std::size_t>(first.visible_keys), "visible key"),
                              shares(first.share))});
  }
  return more;
}

}  // namespace

Verdict verdict_like(Answer answer) {
  if (answer == Answer::rounding) return Verdict::pass;
  return answer == Answer::bug ? Verdict::fail : Verdict::ambiguous;
}

bool some_rows_not_judged(const std::vector<NotJudged>& not_judged) {
  return std::any_of(not_judged.begin(), not_judged.end(),
                     [](const NotJudged& some) { return some.what == "rows"; });
}

std::string not_judged_text(const std::vector<NotJudged>& not_judged, const Style& style) {
  std::string text;
  for (const NotJudged& some : not_judged) {
    text +=
        fmt::format("; not judged: {} ({})",
                    some.names.empty() ? fmt::format("{} of {} {}", some.count, some.of, some.what)
                                       : names_shown(some.names, style),
                    some.why);
  }
  return text;
}

Json json_value(const std::vector<NotJudged>& not_judged) {
  return json_list(not_judged, [](const NotJudged& some) {
    Json object = {JSON_FIELDS(some, what, count, of, why)};
    if (!some.names.empty()) object.update({JSON_FIELDS(some, names)});
    return object;
  });
}

OutputReport report_of(const CheckReport& report, const Style& style) {
  const RungTrial& judged = report.judged_trial();
  const ComparedOutput& outcome = judged.outcome;
  OutputReport text;
  text.verdict = name(report.answer);
  text.colour_of = verdict_like(report.answer);
  text.cause = report.cause();
  text.subject = report.name;
  text.judged = rows_judged(outcome.reference_rows, outcome.rows_total,
                            !some_rows_not_judged(report.not_judged)) +
                not_judged_text(report.not_judged, style) +
                unused_tensors_text(report.unused_tensors, style);
  const bool has_lse = report.trials.empty() ? report.problem.lse : outcome.errors.has_lse;
  text.add("problem", problem_text(report.problem, has_lse), 3);
  if (!report.notes.empty()) text.details.push_back({"note", report.notes, 1});
  const bool stated = report.stated && report.judged == 0;
  if (!report.trials.empty()) {
    text.add("spec",
             fmt::format("{}{}, which rounds {}", stated ? "the stated " : "", judged.rung.name,
                         judged.rung.rounds),
             4);
  }
  text.add("figures", figures_text(judged), 7);
  if (report.cause() != outcome.faults.detail) text.add("faults", outcome.faults.detail, 6);
  text.add("scale", scale_line(judged.scale), 2);
  if (report.answer != Answer::rounding || style.verbose) {
    if (!report.worst.empty()) text.details.push_back(worst_elements(report.worst, 0, worst_shown));
    text.add("where", outcome.location.description, 6);
    // A bug's first suggestion is already shown as its cause. If the answer is undecided, all
    // suggestions are next steps.
    const std::size_t first = report.cause() == report.sentence ? 0 : 1;
    const bool is_open = report.answer == Answer::undecided;
    if (report.suggestions.size() > first) {
      text.details.push_back({is_open ? "next" : "also",
                              {report.suggestions.begin() + static_cast<std::ptrdiff_t>(first),
                               report.suggestions.end()},
                              is_open ? 9 : 0});
    }
  }
  text.more = all_details(report);
  if (!style.verbose && report.name.ends_with(".safetensors")) {
    text.command_label = "in full";
    text.command = fmt::format("plumbline check {} -v", shell_word(report.name));
  }
  return text;
}

std::string render_check(const CheckReport& report, const Style& style) {
  return render(report_of(report, style), style);
}

std::string json_of_checks(const std::vector<CheckReport>& reports) {
  const Json dumps = json_list(reports, report_json);
  return json_text({{"dumps", dumps}});
}

}  // namespace plumbline
