// The trials of an audit: kernels run over problems, each output judged by us and by other rules.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "harness/audit/catalogue.h"
#include "harness/audit/rules.h"
#include "harness/judge/judge.h"
#include "harness/measure/providers.h"
#include "harness/outcome/outcome.h"

namespace plumbline {

class Contracts;

// One kernel on one problem.
struct Trial {
  std::string kernel, device, case_id;
  // As the report groups: fp16, bf16, fp32; tf32 where the pinned spec rounds fp32 inputs to it,
  // fp8 where it rounds P to it.
  std::string dtype;
  Outcome outcome;  // without what only a report of a run needs
  Judgement judgement;
  bool fails = false;              // a verdict that counts as a failure
  bool fails_without_lse = false;  // … of the same outcome with its LSE statistic left out
  bool ran = false;                // the kernel took the problem, however it ended
  // other bits than the correct kernel's, or none, or not the same bits in each call
  bool changed = false;
  std::array<RuleResult, rule_count> rules{};  // all not applicable unless there is an output
  std::string location;  // of a failure: where the error sits ("edge"), "" if it has no such shape
  // of a failure: a fault that names itself ("nan", "unwritten", "run_to_run", "crashed"), else ""
  std::string fault;
};

struct TrialOptions {
  int jobs = 2;
  bool with_rules = true;
  const std::atomic<bool>* stop = nullptr;
  std::function<void()> progress;  // after each case; from one thread at a time
};

// All cases of the plan, those of one problem together so that inputs and references are made once.
// A problem always goes to the same of `jobs` lanes, each with its own worker processes: what a
// kernel keeps between calls then meets the same calls in every run. Trials come in the order of
// the plan. Without the correct kernel of a provider, `changed` stays false there.
std::vector<Trial> run_trials(const Plan& plan, const Catalogue& catalogue,
                              const MeasureOptions& options,
                              const std::vector<ProviderInfo>& providers,
                              const Contracts& contracts, const TrialOptions& trial_options);

// shrink and temperature of each kernel and dtype, summed over the trials of one suite name. Not
// `complete`: a filter left cases out, and nothing is judged.
std::vector<SuiteScore> suite_scores(const std::vector<Trial>& trials, const Contracts& contracts,
                                     bool complete);

}  // namespace plumbline
