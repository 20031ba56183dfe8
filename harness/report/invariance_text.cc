// Counts the results per kernel and invariance, and renders the tables and each violation.
#include "harness/report/invariance_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/report/format.h"
#include "harness/report/layout.h"
#include "harness/report/markdown_table.h"
#include "harness/report/tally.h"
#include "harness/store/stored_invariance.h"

namespace plumbline {
namespace {

// One broken kernel can violate an invariance in every case.
constexpr std::size_t max_full_violations = 20;

std::string label(const InvarianceTally& tally) {
  constexpr std::string_view emulated = "emulated:";
  const std::string device =
      tally.device.starts_with(emulated) ? tally.device.substr(emulated.size()) : tally.device;
  return device == "cpu" ? tally.kernel : fmt::format("{} on {}", tally.kernel, device);
}

std::string cell(const InvarianceTally& tally) {
  if (tally.violated > 0) return "✗";
  if (tally.not_judged > 0) return "?";
  if (tally.rounding > 0) return "≈";
  if (tally.bitwise == 0) return "·";
  return tally.promise == Promise::bitwise ? "=" : "(=)";
}

std::string count(std::size_t n) { return n == 0 ? "" : std::to_string(n); }

// Groups the tallies by kernel.
std::vector<std::vector<InvarianceTally>> by_kernel(
    const std::vector<StoredInvariance>& invariances) {
  std::vector<std::vector<InvarianceTally>> kernels;
  for (const InvarianceTally& tally : tallies(invariances)) {
    if (kernels.empty() || label(kernels.back().front()) != label(tally)) kernels.emplace_back();
    kernels.back().push_back(tally);
  }
  return kernels;
}

}  // namespace

std::vector<InvarianceTally> tallies(const std::vector<StoredInvariance>& invariances) {
  std::map<std::tuple<std::string, std::string, Invariance>, InvarianceTally> found;
  for (const StoredInvariance& stored : invariances) {
    const auto& [outcome, judgement] = stored;
    InvarianceTally& tally = found[{outcome.c.kernel, outcome.c.device, outcome.invariance}];
    tally.kernel = outcome.c.kernel;
    tally.device = outcome.c.device;
    tally.invariance = outcome.invariance;
    tally.promise = std::max(tally.promise, outcome.promise);
    const bool is_failed = is_failure(judgement.verdict);
    if (stored.is_not_judged() || (!is_failed && outcome.status != Status::ok)) {
      ++(stored.is_not_judged() ? tally.not_judged : tally.nothing);
      continue;
    }
    tally.sigmas = std::max(tally.sigmas, outcome.sigmas);
    if (is_failed) {
      ++tally.violated;
    } else {
      ++(outcome.other_bits == 0 ? tally.bitwise : tally.rounding);
    }
  }
  std::vector<InvarianceTally> result;
  result.reserve(found.size());
  for (const auto& [key, tally] : found) result.push_back(tally);
  return result;
}

std::string render_invariance(const StoredInvariance& stored, const std::string& reproduce_command,
                              const Style& style) {
  const auto& [outcome, judgement] = stored;
  OutputReport report;
  report.verdict = in_words(judgement.verdict);
  report.colour_of = judgement.verdict;
  report.cause = why(judgement);
  report.subject = fmt::format("{} of {}", name(outcome.invariance), outcome.case_id);
  report.judged = outcome.elements == 0 ? "nothing was compared"
                                        : fmt::format("{} elements compared, {} with other bits",
                                                      outcome.elements, outcome.other_bits);
  report.add("promise", std::string(name(outcome.promise)), 2);
  report.add("problem a", outcome.problem_a, 4);
  report.add("problem b", outcome.problem_b, 4);
  if (!judgement.findings.empty() && !judgement.notes.empty())
    report.details.push_back({"note", judgement.notes, 1});
  report.command_label = "reproduce";
  report.command = fmt::format("{} --invariances={} --case {}", reproduce_command,
                               name(outcome.invariance), shell_quoted(outcome.case_id));
  return render(report, style) + "\n";
}

std::string render_invariances(const std::vector<StoredInvariance>& invariances,
                               const std::string& reproduce_command, const Style& style) {
  std::string text;
  std::size_t shown = 0;
  for (const StoredInvariance& stored : invariances) {
    if (is_failure(stored.judgement.verdict) && shown++ < max_full_violations)
      text += render_invariance(stored, reproduce_command, style);
  }
  if (shown > max_full_violations)
    text += fmt::format("and {} more are in the tables\n\n", shown - max_full_violations);
  for (const auto& kernel : by_kernel(invariances)) {
    std::vector<std::vector<std::string>> rows;
    for (const InvarianceTally& tally : kernel) {
      const bool compared = tally.bitwise + tally.rounding + tally.violated > 0;
      rows.push_back({std::string(name(tally.invariance)), std::string(name(tally.promise)),
                      count(tally.bitwise), count(tally.rounding), count(tally.violated),
                      count(tally.not_judged), count(tally.nothing),
                      compared ? number(tally.sigmas) : ""});
    }
    text += fmt::format("invariances of {}\n", label(kernel.front())) +
            render_table({"invariance", "promise", "bitwise", "within rounding", "violated",
                          "not judged", "nothing to do", "sigma"},
                         rows, style) +
            "\n";
  }
  return text;
}

std::string render_invariances_markdown(const std::vector<StoredInvariance>& invariances) {
  const auto kernels = by_kernel(invariances);
  if (kernels.empty()) return "";
  std::vector<Invariance> shown;
  for (const Invariance invariance : all<Invariance>()) {
    const bool occurs = std::any_of(
        invariances.begin(), invariances.end(),
        [&](const StoredInvariance& stored) { return stored.outcome.invariance == invariance; });
    if (occurs) shown.push_back(invariance);
  }
  std::vector<std::string> columns{"kernel"};
  for (const Invariance invariance : shown) {
    std::string words(name(invariance));
    std::replace(words.begin(), words.end(), '_', ' ');
    columns.push_back(words);
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& kernel : kernels) {
    rows.push_back({label(kernel.front())});
    for (const Invariance invariance : shown) {
      const auto at = std::find_if(kernel.begin(), kernel.end(), [&](const InvarianceTally& t) {
        return t.invariance == invariance;
      });
      rows.back().push_back(at == kernel.end() ? "·" : cell(*at));
    }
  }
  return markdown_table(columns, rows, 1) +
         "= the same bits in every case, as promised; (=) the same bits, though not promised; ≈ "
         "within rounding, which was all that was "
         "promised; "
         "✗ promise broken, or beyond rounding; ? not judged, because no promise covers the "
         "difference; · nothing to transform, rejected or not measured.\n\n";
}

}  // namespace plumbline
