// The trials of an audit: kernels run over problems, each output judged by plumbline and by the
// rules of other projects.
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
  // The dtype in the report: fp16, bf16 or fp32; tf32 if the pinned spec rounds fp32 inputs to
  // tf32, fp8 if the spec rounds P to fp8.
  std::string dtype;
  Outcome outcome;  // without what only a run's report needs
  Judgement judgement;
  bool fails = false;              // the verdict is a failure
  bool fails_without_lse = false;  // … also if the LSE statistic is left out
  bool ran = false;                // the kernel did not refuse the problem
  // The bits differ from the correct kernel's or between calls, or there is no output.
  bool changed = false;
  std::array<RuleResult, rule_count> rules{};  // not_applicable without an output
  std::string location;  // for a failure: where the error is ("edge"); "" without a clear shape
  // For a failure: its fault or status ("nan", "unwritten", "run_to_run", "crashed"), otherwise
  // "".
  std::string fault;
};

struct TrialOptions {
  int jobs = 2;
  bool with_rules = true;
  const std::atomic<bool>* stop = nullptr;
  std::function<void()> progress;  // called after each case, from one thread at a time
};

// Runs all cases of the plan. Cases of one problem run together, so inputs and references are made
// once. A problem always goes to the same of `jobs` lanes, each with its own worker processes, so a
// kernel's state between calls is the same in every run. The trials are in the plan's order.
// `changed` stays false for providers whose correct kernel did not run.
std::vector<Trial> run_trials(const Plan& plan, const Catalogue& catalogue,
                              const MeasureOptions& options,
                              const std::vector<ProviderInfo>& providers,
                              const Contracts& contracts, const TrialOptions& trial_options);

// Returns shrink and temperature for each kernel and dtype, summed over the trials of one suite
// name. If a filter removed cases (not `complete`), nothing is judged.
std::vector<SuiteScore> suite_scores(const std::vector<Trial>& trials, const Contracts& contracts,
                                     bool complete);

}  // namespace plumbline
