// Runs the planned kernels, judges each output, and applies other projects' acceptance rules to it.
#include "harness/audit/trials.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/audit/framework_math.h"
#include "harness/contract/contract.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"

namespace plumbline {
namespace {

// Applies the rules of other projects to the outputs of one problem. The results that the rules
// compare with are computed once, at the first output.
class ProblemRules {
 public:
  std::array<RuleResult, rule_count> apply(const Measurement& measurement) {
    std::array<RuleResult, rule_count> results;
    results.fill(RuleResult::not_applicable);
    if (measurement.reference == nullptr || measurement.rows.empty()) return results;
    const Problem& problem = measurement.geometry->problem();
    if (problem.is_merge()) return results;         // the rules are for attention
    if (problem.view == View::far) return results;  // copies of its inputs would take gigabytes
    if (!math_) prepare(measurement);
    const DType dtype = problem.has_fp8_q() ? problem.out() : problem.dtype;
    const RuleInputs inputs{dtype,
                            problem.out(),
                            problem.seq_kv,
                            golden_,
                            measurement.rows,
                            math_->flash_attention,
                            math_->sdpa_math,
                            math_->flex_eager,
                            math_->weighted_magnitude,
                            problem.head_dim_qk,
                            problem.softmax_scale(),
                            largest_.q,
                            largest_.k,
                            largest_.v};
    const auto rules = third_party_rules();
    for (std::size_t i = 0; i < rule_count; ++i) results[i] = rules[i].check(inputs);
    return results;
  }

 private:
  void prepare(const Measurement& measurement) {
    const Geometry& geometry = *measurement.geometry;
    const RowSelection& rows = measurement.reference->selection;
    const InputCopy copy(geometry);
    math_ = framework_math(geometry, copy.view(), rows);
    // Other projects do not model a kernel's roundings, so their golden output follows from the
    // inputs as given.
    golden_ = compute_reference(geometry, copy.view(), strict_spec(geometry.problem()), rows).o;
    largest_ = largest_inputs(geometry, copy.view());
  }

  std::optional<FrameworkMath> math_;
  std::vector<double> golden_;
  LargestInputs largest_;
};

struct FaultName {
  std::int64_t Faults::*count;
  const char* name;
};
constexpr std::array fault_names{
    FaultName{&Faults::fence_bytes, "fence"},
    FaultName{&Faults::nan, "nan"},
    FaultName{&Faults::inf, "inf"},
    FaultName{&Faults::unwritten, "unwritten"},
    FaultName{&Faults::padded_rows, "padded_rows"},
    FaultName{&Faults::empty_rows, "empty_rows"},
};

// out_of_range and inexact are left out, because they count wrong values of any cause.
std::string fault_of(const Outcome& outcome, const Judgement& judgement) {
  if (outcome.status != Status::ok) return std::string(name(outcome.status));
  for (const auto& [count, fault] : fault_names) {
    if (outcome.faults.*count > 0) return fault;
  }
  const auto& findings = judgement.findings;
  const bool differs = std::ranges::any_of(
      findings, [](const Finding& f) { return f.kind == FindingKind::run_to_run; });
  return differs ? "run_to_run" : "";
}

Judgement judged(const Outcome& outcome, const Contracts& contracts) {
  return judge({.outcome = &outcome, .contracts = &contracts});
}

std::string dtype_of(const Outcome& outcome, const Contracts& contracts) {
  const Problem& problem = outcome.c.problem;
  const RoundingSpec spec = contracts.pinned_spec(outcome.c.kernel, problem, target_of(outcome));
  if (is_fp8(spec.p_dtype)) return "fp8";
  if (problem.dtype == DType::f32 && inputs_rounded_to(spec) == DType::tf32) return "tf32";
  return std::string(name(problem.dtype));
}

Trial trial_of(Measurement measurement, const Contracts& contracts, ProblemRules* rules) {
  Trial trial;
  if (rules != nullptr) {
    trial.rules = rules->apply(measurement);
  } else {
    trial.rules.fill(RuleResult::not_applicable);
  }
  Outcome& outcome = trial.outcome = std::move(measurement.outcome);
  trial.kernel = outcome.c.kernel;
  trial.device = outcome.c.device;
  trial.case_id = outcome.case_id;
  trial.dtype = dtype_of(outcome, contracts);
  trial.ran = outcome.status != Status::unsupported;
  trial.judgement = judged(outcome, contracts);
  trial.fails = is_failure(trial.judgement.verdict);
  trial.fails_without_lse = trial.fails;
  if (outcome.errors.has_lse && trial.fails) {
    Outcome without = outcome;
    without.errors.has_lse = false;
    trial.fails_without_lse = is_failure(judged(without, contracts).verdict);
  }
  if (trial.fails) {
    trial.location = name(outcome.location.kind);
    trial.fault = fault_of(outcome, trial.judgement);
  }
  outcome.head_rms = {};
  outcome.picture = {};
  return trial;
}

void mark_changed(std::vector<Trial>& trials, const std::vector<std::size_t>& of_problem,
                  const Catalogue& catalogue) {
  std::map<std::string, std::string> digests;  // of each kernel and device
  for (const std::size_t i : of_problem) {
    const Trial& trial = trials[i];
    if (trial.outcome.status == Status::ok)
      digests[trial.kernel + " " + trial.device] = trial.outcome.output_digest;
  }
  for (const std::size_t i : of_problem) {
    Trial& trial = trials[i];
    const auto at = digests.find(catalogue.correct_of(trial.kernel) + " " + trial.device);
    if (at == digests.end() || !trial.ran) continue;
    const Outcome& outcome = trial.outcome;
    trial.changed =
        outcome.output_digest != at->second || (outcome.repeat_checked && !outcome.repeat_equal);
  }
}

}  // namespace

std::vector<Trial> run_trials(const Plan& plan, const Catalogue& catalogue,
                              const MeasureOptions& options,
                              const std::vector<ProviderInfo>& providers,
                              const Contracts& contracts, const TrialOptions& trial_options) {
  std::vector<std::vector<std::size_t>> problems;  // indexes into plan.cases
  std::map<std::string, std::size_t> by_problem;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const auto [at, fresh] =
        by_problem.try_emplace(problem_id(plan.cases[i].c.problem), problems.size());
    if (fresh) problems.emplace_back();
    problems[at->second].push_back(i);
  }
  std::vector<Trial> trials(plan.cases.size());
  std::mutex mutex;
  const auto stopped = [&] { return trial_options.stop != nullptr && trial_options.stop->load(); };
  const auto lanes = static_cast<std::size_t>(
      std::clamp(trial_options.jobs, 1, std::max(1, static_cast<int>(problems.size()))));
  const auto work = [&](std::size_t lane) {
    Measurer measurer(options, providers, contracts);
    for (std::size_t p = lane; p < problems.size() && !stopped(); p += lanes) {
      std::vector<const PlannedCase*> cases;
      for (const std::size_t i : problems[p]) cases.push_back(&plan.cases[i]);
      ProblemRules rules;
      std::size_t next = 0;
      measurer.measure(cases, [&](Measurement measurement) {
        trials[problems[p][next++]] = trial_of(std::move(measurement), contracts,
                                               trial_options.with_rules ? &rules : nullptr);
        if (!trial_options.progress) return;
        const std::lock_guard lock(mutex);
        trial_options.progress();
      });
      mark_changed(trials, problems[p], catalogue);
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t lane = 1; lane < lanes; ++lane) pool.emplace_back(work, lane);
  work(0);
  for (auto& thread : pool) thread.join();
  return trials;
}

std::vector<SuiteScore> suite_scores(const std::vector<Trial>& trials, const Contracts& contracts,
                                     bool complete) {
  std::vector<const Outcome*> outcomes;
  outcomes.reserve(trials.size());
  for (const Trial& trial : trials) outcomes.push_back(&trial.outcome);
  return judge_suites(outcomes, contracts, std::vector<const Baseline*>(outcomes.size(), nullptr),
                      complete);
}

}  // namespace plumbline
