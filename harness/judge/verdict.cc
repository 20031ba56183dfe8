#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "harness/judge/judge.h"

namespace plumbline {
namespace {

// Worst first: the order in which verdicts win.
constexpr std::array<std::pair<Verdict, std::string_view>, 16> verdicts{{
    {Verdict::crashed, "crashed"},
    {Verdict::timeout, "timeout"},
    {Verdict::out_of_memory, "out_of_memory"},
    {Verdict::error, "error"},
    {Verdict::fail, "fail"},
    {Verdict::support_mismatch, "support_mismatch"},
    {Verdict::mistrusted, "mistrusted"},
    {Verdict::unexpected_pass, "unexpected_pass"},
    {Verdict::regressed, "regressed"},
    {Verdict::ambiguous, "ambiguous"},
    {Verdict::expected_failure, "expected_failure"},
    {Verdict::changed, "changed"},
    {Verdict::improved, "improved"},
    {Verdict::fresh, "new"},
    {Verdict::unsupported, "unsupported"},
    {Verdict::pass, "pass"},
}};

auto place(Verdict verdict) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& entry) { return entry.first == verdict; });
  assert(found != verdicts.end());
  return found;
}

}  // namespace

std::string_view name(Verdict verdict) { return place(verdict)->second; }

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (const auto& [verdict, word] : verdicts) {
    if (word == text) return verdict;
  }
  return std::nullopt;
}

bool is_failure(Verdict verdict) { return place(verdict) <= place(Verdict::regressed); }

Verdict worse_of(Verdict a, Verdict b) { return place(a) <= place(b) ? a : b; }

int exit_code(const std::vector<Verdict>& verdicts_of_run, const std::vector<SuiteScore>& scores) {
  const bool score_failed = std::any_of(scores.begin(), scores.end(), [](const SuiteScore& score) { return score.status == "fail"; });
  if (score_failed || std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(), is_failure)) return 1;
  if (verdicts_of_run.empty()) return 4;
  return std::find(verdicts_of_run.begin(), verdicts_of_run.end(), Verdict::ambiguous) != verdicts_of_run.end() ? 5 : 0;
}

}  // namespace plumbline
