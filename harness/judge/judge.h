// From an outcome to its verdict. One predicate, `!(error <= limit)`, decides; NaN never passes.
// What is decided how: docs/judging.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement.h"
#include "harness/judge/verdict.h"

namespace plumbline {

class Contracts;
class SupportTable;
struct DiffOutcome;
struct InvarianceOutcome;
struct Outcome;

// Verdicts of different versions are not compared.
inline constexpr int judge_version = 4;

struct JudgeInputs {
  const Outcome* outcome = nullptr;
  const Contracts* contracts = nullptr;
  const SupportTable* support = nullptr;  // nullptr: support is not judged
  const Baseline* baseline = nullptr;     // nullptr: no past
  // "2027-01-30", in UTC: which expected failures have expired; "": none is looked at
  std::string_view today = {};
  const Pin* pin = nullptr;                       // nullptr: the case is not pinned
  bool refusal_accepted = false;                  // as in Past
  const Acknowledgement* acknowledged = nullptr;  // nullptr: nobody has seen a regression of it
};
// With everything that the past of the case holds, which must outlive them as the rest must.
JudgeInputs inputs_of(const Outcome& outcome, const Past& past, const Contracts& contracts,
                      const SupportTable& support, std::string_view today);
Judgement judge(const JudgeInputs& inputs);
// Whether the kernel refused a problem, has a contract or an entry in the support table, and no
// entry says that it refuses this: a support_mismatch.
bool is_unexplained_refusal(const Outcome& outcome, const Contracts& contracts,
                            const SupportTable& support);
// Whether a refusal is not the kernel's own: it lacks a package or a device
// (docs/worker-protocol.md).
bool is_lacking(const Outcome& outcome);
Judgement judge_diff(const DiffOutcome& outcome);
Judgement judge_invariance(const InvarianceOutcome& outcome);
// How far two ways of asking agreed, of an outcome that was compared: "bitwise", "rounding" or
// "beyond" all rounding.
std::string_view agreement(const InvarianceOutcome& outcome);

// Statistics over a suite, per kernel and dtype (docs/judging.md: shrink, temperature, and the
// drift of the median).
struct SuiteScore {
  // "*" in suite and dtype: over all of the kernel's cases. "cuda/naive/device=cuda:0": not on the
  // CPU
  std::string suite, kernel, dtype;
  // "shrink", "temperature", "drift of the median", "drift of the lower quartile"; " from the pin"
  // behind the latter two, where somebody pinned outcomes
  std::string statistic;
  int cases = 0;
  double value = 0, limit = 0;
  std::string status;  // "pass", "improved", "fail", "not judged: …"
};
// Leave out outcomes of verdict expected_failure: their errors are known to be no rounding.
// `complete` false: a filter, a shard or an interruption left cases out, and nothing is judged.
// `baselines[i]` and `pins[i]`, what somebody pinned, belong to `outcomes[i]` (nullptr = none).
std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes,
                                     const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete,
                                     const std::vector<const Baseline*>& pins = {});

}  // namespace plumbline
