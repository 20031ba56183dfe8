// Names the verdicts, orders them from worst to best, and derives a run's exit code from them.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "harness/judge/judge.h"

namespace plumbline {
namespace {

// Worst first: the order in which verdicts win.
constexpr std::array<std::pair<Verdict, std::string_view>, 17> verdicts{{
    {Verdict::crashed, "crashed"},
    {Verdict::timeout, "timeout"},
    {Verdict::out_of_memory, "out_of_memory"},
    {Verdict::error, "error"},
    {Verdict::fail, "fail"},
    {Verdict::support_mismatch, "support_mismatch"},
    {Verdict::mistrusted, "mistrusted"},
    {Verdict::unexpected_pass, "unexpected_pass"},
    {Verdict::regressed, "regressed"},
    {Verdict::unconfirmed, "unconfirmed"},
    {Verdict::ambiguous, "ambiguous"},
    {Verdict::expected_failure, "expected_failure"},
    {Verdict::changed, "changed"},
    {Verdict::improved, "improved"},
    {Verdict::first_seen, "first_seen"},
    {Verdict::unsupported, "unsupported"},
    {Verdict::pass, "pass"},
}};

auto place(Verdict verdict) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [&](const auto& entry) { return entry.first == verdict; });
  assert(found != verdicts.end());
  return found;
}

}  // namespace

std::string_view name(Verdict verdict) { return place(verdict)->second; }

std::string_view in_words(Verdict verdict) {
  return verdict == Verdict::first_seen ? "first seen" : name(verdict);
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (const auto& [verdict, word] : verdicts) {
    if (word == text) return verdict;
  }
  return std::nullopt;
}

bool is_failure(Verdict verdict) { return place(verdict) <= place(Verdict::regressed); }

Verdict worse_of(Verdict a, Verdict b) { return place(a) <= place(b) ? a : b; }

int exit_code(const std::vector<Verdict>& verdicts_of_run, const std::vector<SuiteScore>& scores,
              bool measured, const std::vector<RunChange>& changes) {
  if (!measured) return 4;
  const bool score_failed = std::any_of(
      scores.begin(), scores.end(), [](const SuiteScore& score) { return score.status == "fail"; });
  const bool change_failed = std::any_of(changes.begin(), changes.end(),
                                         [](const RunChange& c) { return c.change.is_failure; });
  if (score_failed || change_failed ||
      std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(), is_failure))
    return 1;
  const auto is_open = [](Verdict verdict) {
    return verdict == Verdict::ambiguous || verdict == Verdict::unconfirmed;
  };
  return std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(), is_open) ? 5 : 0;
}

int exit_code(const std::vector<Verdict>& verdicts_of_run, const std::vector<SuiteScore>& scores) {
  const bool measured =
      std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(),
                  [](Verdict verdict) { return verdict != Verdict::unsupported; });
  return exit_code(verdicts_of_run, scores, measured, {});
}

}  // namespace plumbline
