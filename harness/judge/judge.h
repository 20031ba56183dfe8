// From an outcome to its verdict. One predicate, `!(error <= limit)`, decides; NaN never passes.
// What is decided how: docs/judging.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/contract/contract.h"
#include "harness/contract/terms.h"
#include "harness/judge/change.h"
#include "harness/outcome/outcome.h"

namespace plumbline {

// Verdicts of different versions are not compared.
inline constexpr int judge_version = 2;

enum class Verdict {
  pass,
  improved,
  first_seen,
  unsupported,
  changed,           // fine
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
  ambiguous,        // exit 5: fresh processes disagree about a regression
  unconfirmed,      // exit 5: a regression, found where there was no kernel to ask again
};
// As people read it: "first seen" for first_seen, else its name.
std::string_view in_words(Verdict verdict);
bool is_failure(Verdict verdict);  // counts as exit 1
// The one that stands when both apply: how a case ended, fail, support_mismatch, mistrusted,
// unexpected_pass, regressed, unconfirmed, ambiguous, expected_failure, changed, improved,
// first_seen, unsupported, pass; the first of this order wins.
Verdict worse_of(Verdict a, Verdict b);

// The past of a case on the same machine class, at the same judge_version and reference_version;
// filled by the store.
struct Baseline {
  std::string run_id;
  std::string verdict;
  std::string output_digest;
  std::string build_id;
  double rms = 0;
  std::int64_t elements = 0;
  bool deterministic = false;  // promised and confirmed
  std::string run_order;       // of its run
  bool timed = false;
  std::string driver, runtime;  // of the GPU, as DeviceFacts has them
  std::string spec_judged;      // as in Outcome
  std::optional<Terms> terms;   // absent: an older plumbline judged it
};
// Recent accepted runs, newest first, at most 30; since the last accept or pin of the case, where
// there is one.
struct TimeHistory {
  std::vector<double> ratios;                // time_ratio
  std::vector<std::string> run_orders = {};  // of each
};
// What somebody has said that the case is to be measured against.
struct Pin {
  Baseline outcome;
  TimeHistory times;  // up to the pinned run, that one first, at most 5
};
// Everything of the past that a case is judged by.
struct Past {
  std::optional<Baseline> baseline;
  TimeHistory times;
  std::optional<Pin> pin;
  bool refusal_accepted = false;  // since the baseline somebody accepted that the kernel refuses it
};

struct Finding {
  std::string statistic;  // "peak", "rms", "nan", "spec", "digest", "drift", "time", "support", …
  double value = 0, limit = 0;
  std::string text;  // a sentence
};

// A time beside those of the same series before.
struct TimeAgainstPast {
  int runs = 0;      // before it, since the last accept or pin
  double ratio = 0;  // its time over their median
  bool operator==(const TimeAgainstPast&) const = default;
};

struct Judgement {
  Verdict verdict = Verdict::error;
  std::vector<Finding> findings;  // why; empty for a plain pass
  double percent_of_limit = 0;    // the statistic nearest to its limit; > 100 fails
  std::string nearest_statistic;
  std::vector<std::string> notes;  // "lse=absent: denominator and exp2 errors could not be seen"
  // Of a case alone, not of diffs and invariances.
  std::vector<Change> changes;  // stored with the run
  std::optional<Terms> terms;   // what it was held to; absent: an older plumbline judged it
  std::optional<TimeAgainstPast> time_against_past;  // of a timed case with a past
  // what fresh processes said of a regression: "confirmed", "refuted", "disagree"; "" = nobody was
  // asked
  std::string confirmation;
};

struct JudgeInputs {
  const Outcome* outcome = nullptr;
  const Contracts* contracts = nullptr;
  const SupportTable* support = nullptr;  // nullptr: support is not judged
  const Baseline* baseline = nullptr;     // nullptr: no past
  const TimeHistory* times = nullptr;
  std::string_view today =
      {};  // "2027-01-30", in UTC: which expected failures have expired; "": none is looked at
  const Pin* pin = nullptr;       // nullptr: the case is not pinned
  bool refusal_accepted = false;  // as in Past
};
Judgement judge(const JudgeInputs& inputs);
Judgement judge_diff(const DiffOutcome& outcome);
Judgement judge_invariance(const InvarianceOutcome& outcome);
// How far two ways of asking agreed, of an outcome that was compared: "bitwise", "rounding" or
// "beyond" all rounding.
std::string_view agreement(const InvarianceOutcome& outcome);

// Statistics over a suite, per kernel and dtype (JUDGING.md: shrink, temperature; and the drift of
// the median).
struct SuiteScore {
  // "*" in suite and dtype: over all of the kernel's cases. "cuda/naive/device=cuda:0": not on the
  // CPU
  std::string suite, kernel, dtype;
  std::string statistic;  // "shrink", "temperature", "drift of the median"
  int cases = 0;
  double value = 0, limit = 0;
  std::string status;  // "pass", "fail", "not judged: …"
};
// Leave out outcomes of verdict expected_failure: their errors are known to be no rounding.
// `complete` false: a filter, a shard or an interruption left cases out, and nothing is judged.
// `baselines[i]` belongs to `outcomes[i]` (nullptr = none).
std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes,
                                     const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete);

// docs/judging.md: 0 fine, 1 failure, 4 nothing measured, 5 ambiguous or unconfirmed. The command
// itself adds 2 (usage), 3 (infrastructure) and 6 (baseline not comparable). `measured`: some
// kernel was called and did not refuse; where none did, nothing was measured, whatever the support
// table says of that.
int exit_code(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores,
              bool measured, const std::vector<RunChange>& changes);
// Nothing was measured where there is no verdict but `unsupported`.
int exit_code(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores);

}  // namespace plumbline
