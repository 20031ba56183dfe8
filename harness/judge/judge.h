// Verdicts. One predicate, `!(error <= limit)`, decides; NaN never passes. What is decided how: docs/judging.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/contract.h"
#include "harness/measure/outcome.h"

namespace plumbline {

enum class Verdict {
  pass,
  improved,
  fresh,
  unsupported,
  changed,           // fine ("fresh" is spelled "new")
  expected_failure,  // fine: would be a failure, and its suite says so
  fail,
  regressed,
  crashed,
  timeout,
  out_of_memory,
  error,
  support_mismatch,
  mistrusted,
  unexpected_pass,  // exit 1
  ambiguous,        // exit 5
};
std::string_view name(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);
bool is_failure(Verdict verdict);  // counts as exit 1
// The one that stands when both apply: how a case ended, fail, support_mismatch, mistrusted, unexpected_pass, regressed, ambiguous,
// expected_failure, changed, improved, fresh, unsupported, pass; the first of this order wins.
Verdict worse_of(Verdict a, Verdict b);

// The only place that decides an element or a statistic: false when `value` is NaN.
inline bool within(double value, double limit) { return value <= limit; }

// The past of a case on the same machine class, at the same judge_version and reference_version; filled by the store.
struct Baseline {
  std::string run_id;
  std::string verdict;
  std::string output_digest;
  std::string build_id;
  double rms = 0;
  std::int64_t elements = 0;
  bool deterministic = false;  // promised and confirmed
};
struct TimeHistory {
  std::vector<double> ratios;  // time_ratio of recent accepted runs, newest first, at most 30
};

struct Finding {
  std::string statistic;  // "peak", "rms", "nan", "spec", "digest", "drift", "time", "support", …
  double value = 0, limit = 0;
  std::string text;  // a sentence
};

struct Judgement {
  Verdict verdict = Verdict::error;
  std::vector<Finding> findings;  // why; empty for a plain pass
  double percent_of_limit = 0;    // the statistic nearest to its limit; > 100 fails
  std::string nearest_statistic;
  std::vector<std::string> notes;  // "lse=absent: denominator and exp2 errors could not be seen"
};

struct JudgeInputs {
  const Outcome* outcome = nullptr;
  const Contracts* contracts = nullptr;
  const SupportTable* support = nullptr;  // nullptr: support is not judged
  const Baseline* baseline = nullptr;     // nullptr: no past
  const TimeHistory* times = nullptr;
  std::string_view today = {};  // "2027-01-30", in UTC: which expected failures have expired; "": none is looked at
};
Judgement judge(const JudgeInputs& inputs);
Judgement judge_diff(const DiffOutcome& outcome);
Judgement judge_invariance(const InvarianceOutcome& outcome);
// How far two ways of asking agreed, of an outcome that was compared: "bitwise", "rounding" or "beyond" all rounding.
std::string_view agreement(const InvarianceOutcome& outcome);

// The most rows, counted over samples and query heads, that a case whose scores count in a suite may have: beyond,
// rows that share keys share the error of P, which the scores' variance does not know (a legal kernel reached z = 15 at 2048 rows).
inline constexpr std::int64_t suite_score_rows = 150;

// Statistics over a suite, per kernel and dtype (JUDGING.md: shrink, temperature; and the drift of the median).
struct SuiteScore {
  std::string suite, kernel, dtype;  // "*" in suite and dtype: over all of the kernel's cases. "cuda/naive/device=cuda:0": not on the CPU
  std::string statistic;             // "shrink", "temperature", "drift of the median"
  int cases = 0;
  double value = 0, limit = 0;
  std::string status;  // "pass", "fail", "not judged: …"
};
// Leave out outcomes of verdict expected_failure: their errors are known to be no rounding.
// `complete` false: a filter, a shard or an interruption left cases out, and nothing is judged. `baselines[i]` belongs to `outcomes[i]`
// (nullptr = none).
std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes, const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete);

// docs/judging.md: 0 fine, 1 failure, 4 nothing measured (no verdict but `unsupported`), 5 ambiguous. The command itself adds 2 (usage),
// 3 (infrastructure) and 6 (baseline not comparable).
int exit_code(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores);

}  // namespace plumbline
