// Renders a diff: the answer, the largest differences, and a map with one character per head.
#include "harness/report/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/report/check_text.h"
#include "harness/report/format.h"

namespace plumbline {
namespace {

constexpr std::int64_t max_map_lines = 32;
constexpr std::size_t max_in_full = 5;

std::string side_line(const DiffSide& side) {
  std::string text = side.label;
  if (side.outcome.status != Status::ok) {
    return fmt::format("{}: {}{}{}", text, name(side.outcome.status),
                       side.outcome.reason.empty() ? "" : ", ", side.outcome.reason);
  }
  const char* kept = side.answer == Answer::rounding ? "keeps its limits"
                     : side.answer == Answer::bug    ? "is wrong"
                                                     : "is undecided";
  text += fmt::format(": {} against fp64, {} of the limit ({}), as {}", kept,
                      percent(side.judgement.percent_of_limit), side.judgement.nearest_statistic,
                      side.spec_name);
  if (side.answer != Answer::rounding && side.outcome.location.kind != LocationKind::none)
    text += "; " + side.outcome.location.description;
  return text;
}

std::string values(const DiffElement& e) {
  return fmt::format("a {:.9g}, b {:.9g}, fp64 {:.9g}", e.a, e.b, e.expected);
}

std::string largest_text(const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  const DiffElement& absolute = report.largest_abs;
  return fmt::format("{} ({} ulp) at {}: {}; mean {}", number(diff.max_abs),
                     number(std::abs(absolute.a - absolute.b) / absolute.ulp), at(absolute.element),
                     values(absolute), number(diff.mean_abs));
}

std::string relative_text(const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  const DiffElement& relative = report.largest_rel;
  return fmt::format("{} at {}: {}, where the output's rms is {}", number(diff.max_rel),
                     at(relative.element), values(relative), number(diff.rms_output));
}

std::string sigma_text(const DiffReport& report) {
  const DiffElement& sigma = report.largest_sigma;
  return fmt::format(
      "{} of the difference's standard deviations (limit {:.3g}) at {}: {}, sigma of a {}, of b {}",
      number(report.outcome.max_sigma), report.limit, at(sigma.element), values(sigma),
      number(sigma.sigma_a), number(sigma.sigma_b));
}

// Describes the rank correlation between a row's difference and its kappa.
std::string relation(const Amplification& softmax) {
  if (std::isnan(softmax.correlation)) return "";
  const char* text = !softmax.significant ? "how much a row differs does not depend on its kappa"
                     : softmax.correlation > 0 ? "rows that differ more have larger kappa"
                                               : "rows that differ more have smaller kappa";
  return fmt::format("; {} (rank correlation {:+.2f} over {} rows)", text, softmax.correlation,
                     softmax.rows);
}

std::string softmax_text(const Amplification& softmax) {
  if (softmax.rows == 0) return "";
  const RowId& row = softmax.largest_row;
  return fmt::format(
      "kappa, the relative change of an output row per unit of independent logit error: median {}, "
      "largest {} at sample {} head {} row {}{}",
      number(softmax.median), number(softmax.largest), row.sample, row.head, row.row,
      relation(softmax));
}

std::string bits_text(const DiffOutcome& diff) {
  return fmt::format("{:.4g} % of the elements equal, {} of {} (sample, head) entirely",
                     100 * diff.bit_equal_share, diff.heads_bit_equal, diff.heads);
}

std::string fp64_text(const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  return fmt::format("rms error of a {}, of b {}; {} elements of {} common rows",
                     number(diff.rms_a), number(diff.rms_b), diff.elements, diff.rows);
}

char shade(const DiffCell& cell, double limit) {
  if (cell.bit_equal) return '.';
  if (!within(cell.max_sigma, limit)) return 'X';
  return cell.max_sigma <= 1 ? ':' : cell.max_sigma <= 3 ? 'o' : 'O';
}

// Returns the character that stands for the larger difference.
char worse(char a, char b) {
  static constexpr std::string_view order = " .:oOX";
  return order.find(a) < order.find(b) ? b : a;
}

std::vector<std::string> table_row(const DiffReport& report) {
  const DiffOutcome& diff = report.outcome;
  const bool ran = diff.status == Status::ok;
  const auto shown = [&](double value) { return ran ? number(value) : std::string(); };
  return {report.name,
          std::string(ran ? name(report.answer) : name(diff.status)),
          shown(diff.max_abs),
          shown(diff.mean_abs),
          shown(diff.max_sigma),
          shown(diff.max_rel),
          shown(100 * diff.bit_equal_share)};
}

bool is_unsupported(const DiffReport& report) {
  return report.a.outcome.status == Status::unsupported ||
         report.b.outcome.status == Status::unsupported;
}

std::string totals(const std::vector<DiffReport>& reports) {
  std::map<std::string, std::size_t> counts;
  for (const DiffReport& report : reports)
    ++counts[is_unsupported(report) ? "unsupported" : std::string(name(report.answer))];
  std::string text = plural(reports.size(), "problem") + ":";
  for (const auto& [answer, count] : counts)
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", count, answer);
  return text;
}

}  // namespace

std::vector<std::string> difference_map(const DiffReport& report, const Style& style) {
  if (report.map.empty()) return {};
  std::int64_t samples = 1, heads = 1;
  for (const DiffCell& cell : report.map)
    samples = std::max(samples, cell.sample + 1), heads = std::max(heads, cell.head + 1);
  const std::int64_t columns = std::max(16, (style.width > 0 ? style.width : 120) - 24);
  const std::int64_t heads_a_cell = 1 + (heads - 1) / columns,
                     samples_a_line = 1 + (samples - 1) / max_map_lines;
  std::vector<std::string> lines(
      static_cast<std::size_t>((samples + samples_a_line - 1) / samples_a_line),
      std::string(static_cast<std::size_t>((heads + heads_a_cell - 1) / heads_a_cell), ' '));
  for (const DiffCell& cell : report.map) {
    char& at = lines[static_cast<std::size_t>(cell.sample / samples_a_line)]
                    [static_cast<std::size_t>(cell.head / heads_a_cell)];
    at = worse(at, shade(cell, report.limit));
  }
  std::vector<std::string> text{fmt::format(
      "one character {}: . equal bits, : to 1 sigma, o to 3, O to {:.3g}, X beyond",
      heads_a_cell * samples_a_line > 1
          ? fmt::format("the worst of {} heads of {} samples", heads_a_cell, samples_a_line)
          : "a head",
      report.limit)};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text.push_back(
        fmt::format("sample {:<5} {}", static_cast<std::int64_t>(i) * samples_a_line, lines[i]));
  }
  return text;
}

OutputReport report_of(const DiffReport& report, const Style& style) {
  OutputReport text;
  text.verdict = name(report.answer);
  text.colour_of = verdict_like(report.answer);
  text.cause = report.sentence;
  text.subject = report.name;
  const bool ran = report.outcome.status == Status::ok;
  text.judged = rows_judged(ran ? report.outcome.rows : 0, report.rows_total,
                            !some_rows_not_judged(report.not_judged)) +
                not_judged_text(report.not_judged, style);
  for (const auto& [letter, side] : {std::pair{"a", &report.a}, std::pair{"b", &report.b}}) {
    const std::string unused = unused_tensors_text(side->unused_tensors, style);
    if (!unused.empty()) text.judged += fmt::format("{} ({})", unused, letter);
    text.add(letter, side_line(*side), 6);
  }
  if (ran) {
    const bool differ = !(report.outcome.bit_equal_share >= 1);
    if (differ) {
      text.add("largest", largest_text(report), 5);
      text.add("relative", relative_text(report), 1);
      text.add("sigma", sigma_text(report), 4);
    }
    text.add("bits", bits_text(report.outcome), 3);
    text.add("fp64", fp64_text(report), 2);
    if (report.softmax.rows > 0) text.more.push_back({"softmax", {softmax_text(report.softmax)}});
    if (differ) text.more.push_back({"map", difference_map(report, style)});
  }
  if (style.verbose) return text;
  text.command_label = "in full";
  if (!report.command.empty()) {
    text.command = report.command;
  } else if (report.a.label.ends_with(".safetensors") && report.b.label.ends_with(".safetensors")) {
    text.command = fmt::format("plumbline diff {} {} -v", shell_word(report.a.label),
                               shell_word(report.b.label));
  }
  return text;
}

std::string render_diff(const DiffReport& report, const Style& style) {
  return render(report_of(report, style), style);
}

std::string render_diffs(const std::vector<DiffReport>& reports, const Style& style) {
  if (reports.size() == 1) return render_diff(reports.front(), style);
  std::vector<std::vector<std::string>> rows;
  std::vector<const DiffReport*> in_full;
  const DiffReport* largest = nullptr;
  for (const DiffReport& report : reports) {
    rows.push_back(table_row(report));
    if (is_unsupported(report)) continue;
    if (report.answer != Answer::rounding) {
      in_full.push_back(&report);
    } else if (largest == nullptr || report.outcome.max_sigma > largest->outcome.max_sigma) {
      largest = &report;
    }
  }
  std::string text =
      render_table({"problem", "answer", "max abs", "mean abs", "sigma", "max rel", "% equal"},
                   rows, style) +
      "\n";
  for (std::size_t i = 0; i < std::min(in_full.size(), max_in_full); ++i)
    text += render_diff(*in_full[i], style) + "\n";
  if (in_full.size() > max_in_full)
    text += fmt::format("{} more are only in the table\n\n", in_full.size() - max_in_full);
  if (largest != nullptr) text += render_diff(*largest, style) + "\n";
  const DiffReport& first = reports.front();
  const Answer overall = overall_answer(reports);
  const std::string verdict = coloured(name(overall), verdict_like(overall), style);
  return text + fmt::format("{}: {} and {} on {}\n", verdict, first.a.label, first.b.label,
                            totals(reports));
}

std::size_t compared(const std::vector<DiffReport>& reports) {
  return static_cast<std::size_t>(std::count_if(
      reports.begin(), reports.end(), [](const DiffReport& r) { return !is_unsupported(r); }));
}

Answer overall_answer(const std::vector<DiffReport>& reports) {
  Answer answer = compared(reports) > 0 ? Answer::rounding : Answer::undecided;
  for (const DiffReport& report : reports) {
    if (is_unsupported(report) || report.answer == Answer::rounding) continue;
    if (report.answer == Answer::bug) return Answer::bug;
    answer = report.answer;
  }
  return answer;
}

}  // namespace plumbline
