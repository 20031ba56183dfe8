// Writes what `plumbline check` found: answer, specs tried, worst elements; as text and as JSON.
#include "harness/report/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/outcome/statistics_table.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

Verdict verdict_like(Answer answer) {
  if (answer == Answer::rounding) return Verdict::pass;
  return answer == Answer::bug ? Verdict::fail : Verdict::ambiguous;
}

std::string problem_text(const Problem& problem, const ComparedOutput& outcome) {
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
  text += outcome.errors.has_lse ? ", with LSE" : ", without LSE";
  return text;
}

// Of how many rows the answer is.
std::string rows_text(const ComparedOutput& outcome) {
  if (outcome.rows_total == 0) return "";
  return outcome.reference_rows == outcome.rows_total
             ? fmt::format(" (all {} rows)", outcome.rows_total)
             : fmt::format(" ({} of {} rows compared, faults looked for in all)",
                           outcome.reference_rows, outcome.rows_total);
}

// "percent of the limit: FlashInfer decode 4031 %, FlashAttention-2 68 % (explains)".
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

std::string element_text(const WorstElement& worst) {
  const double error = worst.got - worst.expected;
  return fmt::format("{}, {}: got {:.7g}, expected {:.7g}: {:.3g} sigma, {:.3g} ulp",
                     at(worst.element),
                     plural(static_cast<std::size_t>(worst.visible_keys), "visible key"), worst.got,
                     worst.expected, error / worst.sigma, error / worst.ulp);
}

// "0.0021 % (limit 0.031 %)"
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

std::string worst_lines(const CheckReport& report, const Style& style) {
  const ComparedOutput& outcome = report.trials[report.judged].outcome;
  std::string text;
  if (outcome.worst && outcome.worst->element.column < 0) {
    const WorstElement& lse = *outcome.worst;
    text +=
        labelled("LSE",
                 fmt::format("sample {} head {} row {}: got {:.9g}, expected {:.9g}: {:.3g} sigma",
                             lse.element.sample, lse.element.head, lse.element.row, lse.got,
                             lse.expected, (lse.got - lse.expected) / lse.sigma),
                 style);
  }
  std::string_view label = "worst";
  for (const WorstElement& worst : report.worst)
    text += labelled(std::exchange(label, ""), element_text(worst), style);
  if (!report.worst.empty()) {
    text += labelled("sigma",
                     fmt::format("{:.3g} at the first: {}", report.worst.front().sigma,
                                 shares(report.worst.front().share)),
                     style);
  }
  return text;
}

Json worst_json(const WorstElement& worst) {
  Json object = element_json(worst.element);
  object.update(Json{{"got", json_value(worst.got)},
                     {"expected", json_value(worst.expected)},
                     {"sigma", json_value(worst.sigma)},
                     {"ulp", json_value(worst.ulp)},
                     {"error_sigma", json_value((worst.got - worst.expected) / worst.sigma)},
                     {"visible_keys", worst.visible_keys},
                     {"share", share_json(worst.share)}});
  return object;
}

Json scale_json(const ScaleTests& scale) {
  const auto test = [](const ScaleTest& of) {
    return of.judged ? Json{{"effect", json_value(of.effect)}, {"limit", json_value(of.limit)}}
                     : Json(nullptr);
  };
  return {{"rows", scale.rows},
          {"shrink", test(scale.shrink)},
          {"temperature", test(scale.temperature)},
          {"lse_temperature", test(scale.lse)}};
}

Json trial_json(const RungTrial& trial) {
  const ErrorStatistics& errors = trial.outcome.errors;
  Json object = {{"rung", trial.rung.name},
                 {"rounds", trial.rung.rounds},
                 {"source", trial.rung.source},
                 {"spec", spec_text(trial.rung.spec)},
                 {"explains", trial.explains},
                 {"percent_of_limit", json_value(trial.percent_of_limit())},
                 {"nearest_statistic", trial.judgement.nearest_statistic},
                 {"scale", scale_json(trial.scale)},
                 {"sigma_rms", json_value(trial.sigma_rms)}};
  const auto add_statistics = [&](bool always_measured) {
    for (const Statistic& statistic : deciding_statistics) {
      const bool is_meant = (statistic.measured == nullptr) == always_measured;
      if (is_meant && is_measured(statistic, errors))
        object[statistic.column] = json_value(errors.*statistic.value);
    }
  };
  add_statistics(true);
  object["faults"] = trial.outcome.faults.total();
  add_statistics(false);
  object["findings"] = Json::array();
  for (const Finding& finding : trial.judgement.findings)
    object["findings"].push_back(finding.text);
  return object;
}

Json report_json(const CheckReport& report) {
  const RungTrial& judged = report.trials[report.judged];
  Json object = {{"dump", report.name},
                 {"answer", name(report.answer)},
                 {"cause", report.suggestions.empty() ? "" : report.suggestions.front()},
                 {"sentence", report.sentence},
                 {"rung", judged.rung.name},
                 {"percent_of_limit", json_value(judged.percent_of_limit())},
                 {"spec_stated", report.stated},
                 {"problem", problem_id(report.problem)},
                 {"rows_compared", judged.outcome.reference_rows},
                 {"rows", judged.outcome.rows_total},
                 {"where", judged.outcome.location.description},
                 {"notes", report.notes},
                 {"suggestions", report.suggestions},
                 {"ladder", Json::array()},
                 {"worst", Json::array()}};
  for (const RungTrial& trial : report.trials) object["ladder"].push_back(trial_json(trial));
  for (const WorstElement& worst : report.worst) object["worst"].push_back(worst_json(worst));
  return object;
}

}  // namespace

std::string render_check(const CheckReport& report, const Style& style, bool verbose) {
  const RungTrial& judged = report.trials[report.judged];
  const ComparedOutput& outcome = judged.outcome;
  const std::string answer(name(report.answer));
  std::string text =
      coloured(answer, verdict_like(report.answer), style) + "  " +
      wrapped(fmt::format("{}: {}{}", report.name, report.sentence, rows_text(outcome)),
              answer.size() + 2, style) +
      "\n";
  if (!report.suggestions.empty())
    text += "  " + wrapped(report.suggestions.front(), 2, style) + "\n";
  text += labelled("problem", problem_text(report.problem, outcome), style);
  for (const std::string& note : report.notes) text += labelled("note", note, style);
  const bool stated = report.stated && report.judged == 0;
  text += labelled("judged by",
                   fmt::format("{}{}, which rounds {}", stated ? "the stated " : "",
                               judged.rung.name, judged.rung.rounds),
                   style);
  if (!judged.rung.source.empty()) text += labelled("", judged.rung.source, style);
  text += labelled("ladder", ladder_text(report), style);
  const std::string error =
      fmt::format("{} of the limit ({}): {}; largest error {}, mean {}",
                  percent(judged.judgement.percent_of_limit), judged.judgement.nearest_statistic,
                  statistics_text(outcome.errors), number(outcome.errors.max_abs),
                  number(outcome.errors.mean_abs));
  if (outcome.errors.elements > 0) text += labelled("error", error, style);
  if (const std::string scale = scale_line(judged.scale); !scale.empty())
    text += labelled("scale", scale, style);
  if (report.answer == Answer::rounding && !verbose) return text;
  std::string_view label = "why";
  for (const Finding& finding : judged.judgement.findings)
    text += labelled(std::exchange(label, ""), finding.text, style);
  text += worst_lines(report, style);
  if (!outcome.location.description.empty())
    text += labelled("where", outcome.location.description, style);
  label = "also";
  for (std::size_t i = 1; i < report.suggestions.size(); ++i) {
    text += labelled(std::exchange(label, ""), report.suggestions[i], style);
  }
  return text;
}

std::string json_of_checks(const std::vector<CheckReport>& reports) {
  Json root = {{"dumps", Json::array()}};
  for (const CheckReport& report : reports) root["dumps"].push_back(report_json(report));
  return json_text(root);
}

}  // namespace plumbline
