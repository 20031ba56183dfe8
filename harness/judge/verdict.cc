// Names the verdicts, orders them from worst to best, and derives a run's exit code from them.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "harness/judge/judge.h"

namespace plumbline {
namespace {

// Worst first: the order in which verdicts win.
constexpr std::array worst_first{Verdict::crashed,       Verdict::timeout,
                                 Verdict::out_of_memory, Verdict::error,
                                 Verdict::fail,          Verdict::support_mismatch,
                                 Verdict::mistrusted,    Verdict::unexpected_pass,
                                 Verdict::regressed,     Verdict::unconfirmed,
                                 Verdict::ambiguous,     Verdict::expected_failure,
                                 Verdict::changed,       Verdict::improved,
                                 Verdict::first_seen,    Verdict::unsupported,
                                 Verdict::pass};
static_assert(worst_first.size() == all<Verdict>().size());

auto place(Verdict verdict) { return std::find(worst_first.begin(), worst_first.end(), verdict); }

}  // namespace

std::string_view in_words(Verdict verdict) {
  return verdict == Verdict::first_seen ? "first seen" : name(verdict);
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
