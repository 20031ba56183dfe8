// Computes how close legal kernels come to each limit, by rounding tier, and counts false alarms.
#include "harness/audit/calibrate.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "harness/audit/trials.h"
#include "harness/compare/statistics.h"
#include "harness/contract/contract.h"
#include "harness/judge/exit_code.h"

namespace plumbline {
namespace {

constexpr std::size_t alarms_named = 20;
constexpr std::string_view seed_word = " seed ";

// Keeps the value that is closer to its limit, or NaN.
void take(Headroom& headroom, double value, double limit, const std::string& where) {
  const double ratio = headroom.limit > 0 ? headroom.value / headroom.limit : -1;
  if (exceeds(value / limit, ratio)) headroom = {value, limit, where};
}

// Names what a spec rounds beyond the strict default. "fma": fp32 sums rounded to nearest, whose
// errors are smaller than those that tensor cores may have.
std::string tier_of(RoundingSpec spec, const Problem& problem, std::string_view arch) {
  const RoundingSpec strict = strict_spec(problem, arch);
  const bool fma = spec.qk_accumulator == fma_accumulator && spec.pv_accumulator == fma_accumulator;
  if (!fma || strict.qk_accumulator == fma_accumulator) return describe(spec, problem, arch);
  spec.qk_accumulator = strict.qk_accumulator;
  spec.pv_accumulator = strict.pv_accumulator;
  const std::string rest = describe(spec, problem, arch);
  return rest == "strict" ? "fma" : "fma " + rest;
}

class Calibration {
 public:
  explicit Calibration(const Contracts& contracts) : contracts_(contracts) {}

  void add(const Trial& trial) {
    if (!trial.ran) return;
    const Outcome& outcome = trial.outcome;
    kernels_.insert(trial.kernel);
    if (outcome.status != Status::ok) {
      ++report_.not_measured;
      return alarm(fmt::format("{}: {}", trial.case_id, outcome.reason));
    }
    ++report_.runs;
    if (trial.fails) {
      ++report_.false_alarms;
      alarm(fmt::format(
          "{}: {}", trial.case_id,
          trial.judgement.findings.empty() ? "" : trial.judgement.findings.front().text));
    }
    CalibrationRow& row = row_of(outcome);
    ++row.runs;
    const ErrorStatistics& errors = outcome.errors;
    row.elements += errors.elements;
    if (errors.elements == 0) return;
    const Limits limits =
        contracts_.limits(trial.kernel, outcome.c.problem, errors.elements, target_of(outcome));
    for (const Statistic& statistic : deciding_statistics) {
      if (is_measured(statistic, errors))
        take(row.statistics[statistic], errors.*statistic.value, limits.*statistic.limit,
             trial.case_id);
    }
  }

  // A suite score covers cases of one kernel and dtype whose output has the dtype of Q. They share
  // their tier.
  void add(const SuiteScore& score, const Trial& sample) {
    if (score.status != "pass" && score.status != "fail") return;
    ++report_.suite_sums;
    const std::string where =
        fmt::format("{} of {} in {}, {}", score.statistic, score.kernel, score.dtype, score.suite);
    if (score.status == "fail") {
      ++report_.suite_alarms;
      alarm(fmt::format("{}: {:.3g}, its limit {:.3g}", where, score.value, score.limit));
    }
    take(row_of(sample.outcome).suite, score.value, score.limit, where);
  }

  CalibrationReport finish() {
    for (auto& [key, row] : rows_) {
      std::tie(row.tier, row.dtype, row.out) = key;
      report_.rows.push_back(std::move(row));
    }
    report_.kernels.assign(kernels_.begin(), kernels_.end());
    return std::move(report_);
  }

 private:
  CalibrationRow& row_of(const Outcome& outcome) {
    const Problem& problem = outcome.c.problem;
    const RunTarget place = target_of(outcome);
    const RoundingSpec spec = contracts_.pinned_spec(outcome.c.kernel, problem, place);
    return rows_[{tier_of(spec, problem, place.arch), std::string(name(problem.dtype)),
                  std::string(name(problem.out()))}];
  }

  void alarm(std::string text) {
    if (report_.alarms.size() < alarms_named) report_.alarms.push_back(std::move(text));
  }

  const Contracts& contracts_;
  std::map<std::tuple<std::string, std::string, std::string>, CalibrationRow> rows_;
  std::set<std::string> kernels_;
  CalibrationReport report_;
};

}  // namespace

int CalibrationReport::exit_code() const {
  if (runs == 0) return exit_nothing;
  return false_alarms + suite_alarms + not_measured > 0 ? exit_failure : exit_fine;
}

Plan with_seeds(const Plan& plan, std::uint64_t first, std::uint64_t last) {
  Plan all;
  all.partial = plan.partial;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    for (PlannedCase c : plan.cases) {
      c.c.problem.seed = seed;
      c.case_id = case_id(c.c);
      c.suite += std::string(seed_word) + std::to_string(seed);
      c.timed = false;
      all.cases.push_back(std::move(c));
    }
  }
  return all;
}

CalibrationReport calibrate(const std::vector<Trial>& trials, const Contracts& contracts,
                            bool complete) {
  Calibration calibration(contracts);
  // suite, kernel, dtype
  std::map<std::tuple<std::string, std::string, std::string>, const Trial*> samples;
  for (const Trial& trial : trials) {
    calibration.add(trial);
    const Problem& problem = trial.outcome.c.problem;
    if (problem.out() == problem.dtype) {
      samples.try_emplace({trial.outcome.suite, trial.kernel, std::string(name(problem.dtype))},
                          &trial);
    }
  }
  for (const SuiteScore& score : suite_scores(trials, contracts, complete)) {
    const auto at = samples.find(
        {score.suite, score.kernel.substr(0, score.kernel.find("/device=")), score.dtype});
    if (at != samples.end()) calibration.add(score, *at->second);
  }
  return calibration.finish();
}

}  // namespace plumbline
