// Derives a verdict from an outcome. One predicate, `!(error <= limit)`, decides, so NaN never
// passes. docs/judging.md has the rules.
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

// Verdicts of different versions are never compared.
inline constexpr int judge_version = 5;

struct JudgeInputs {
  const Outcome* outcome = nullptr;
  const Contracts* contracts = nullptr;
  const SupportTable* support = nullptr;  // nullptr: support is not judged
  const Baseline* baseline = nullptr;     // nullptr: no past
  // Date in UTC, "2027-01-30", that decides if an expected failure or an acknowledgement has
  // expired. "": expected failures are not applied, and no acknowledgement has expired.
  std::string_view today = {};
  const Pin* pin = nullptr;                       // nullptr: the case is not pinned
  bool refusal_accepted = false;                  // as in Past
  const Acknowledgement* acknowledged = nullptr;  // nullptr: no acknowledged regression
};
// Returns inputs that refer to the arguments and to everything in `past`. All must outlive them.
JudgeInputs inputs_of(const Outcome& outcome, const Past& past, const Contracts& contracts,
                      const SupportTable& support, std::string_view today);
Judgement judge(const JudgeInputs& inputs);
// Returns true if the kernel refused a problem, has a contract or an entry in the support table,
// and no entry lists this refusal: a support_mismatch.
bool is_unexplained_refusal(const Outcome& outcome, const Contracts& contracts,
                            const SupportTable& support);
// Returns true if a refusal is not the kernel's own: a package or a device is missing
// (docs/worker-protocol.md).
bool is_lacking(const Outcome& outcome);
Judgement judge_diff(const DiffOutcome& outcome);
Judgement judge_invariance(const InvarianceOutcome& outcome);
// Returns how well the two calls of a compared outcome agree: "bitwise", "rounding", or "beyond" if
// rounding does not explain the difference.
std::string_view agreement(const InvarianceOutcome& outcome);

// A statistic over a suite, for one kernel and dtype: shrink, temperature or drift
// (docs/judging.md).
struct SuiteScore {
  // "*" in suite and dtype: all cases of the kernel. The kernel's name includes a device other than
  // the CPU: "cuda/naive/device=cuda:0".
  std::string suite, kernel, dtype;
  // "shrink", "temperature", "drift of the median" or "drift of the lower quartile". The last two
  // end with " from the pin" if they compare with pinned outcomes.
  std::string statistic;
  int cases = 0;
  double value = 0, limit = 0;
  std::string status;  // "pass", "improved", "fail", "not judged: …"
};
// Returns the statistics of all suites. The caller leaves out outcomes with the verdict
// expected_failure, whose errors are known not to be rounding. `complete` is false if a filter, a
// shard or an interruption left cases out; then nothing is judged. `baselines[i]` and `pins[i]`
// belong to `outcomes[i]`; nullptr = none.
std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes,
                                     const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete,
                                     const std::vector<const Baseline*>& pins = {});

}  // namespace plumbline
