// Summarizes an audit's trials: known bugs caught, legal kernels flagged, diagnoses, exit code.
#include "harness/audit/audit.h"

#include <algorithm>
#include <set>

#include "harness/audit/trials.h"
#include "harness/judge/exit_code.h"

namespace plumbline {
namespace {

constexpr std::size_t allclose_1e2_index = 1;  // in third_party_rules()

// Returns the most frequent text; of equally frequent ones, the first.
std::string most_frequent(const std::vector<std::string>& texts) {
  std::map<std::string, int> counts;
  for (const auto& text : texts) ++counts[text];
  std::string best;
  int most = 0;
  for (const auto& text : texts) {
    if (counts[text] > most) most = counts[text], best = text;
  }
  return best;
}

// The judge shows location and fault; either one may be the expected diagnosis.
DiagnosisResult compare_diagnosis(const Mutant& mutant, const std::string& location,
                                  const std::string& fault) {
  if (mutant.diagnosis.empty()) return DiagnosisResult::not_stated;
  if (location.empty() && fault.empty()) return DiagnosisResult::none;
  const bool right = std::ranges::any_of(mutant.diagnosis, [&](const std::string& expected) {
    return expected == location || expected == fault;
  });
  return right ? DiagnosisResult::right : DiagnosisResult::wrong;
}

std::string reason_of(const Trial& trial) {
  return trial.judgement.findings.empty() ? "" : trial.judgement.findings.front().text;
}

class Summary {
 public:
  Summary(const std::vector<Trial>& trials, const std::vector<SuiteScore>& scores,
          const Catalogue& catalogue, bool whole)
      : trials_(trials), scores_(scores), catalogue_(catalogue), whole_(whole) {
    for (const Trial& trial : trials) {
      if (!trial.ran) continue;
      groups_[{trial.kernel, trial.dtype}].push_back(&trial);
    }
  }

  AuditReport run(const std::vector<ReviewedSurvivor>& reviewed) {
    for (const auto& [key, trials] : groups_) {
      if (const Mutant* mutant = catalogue_.find(key.first)) {
        report_.mutants.push_back(mutant_result(*mutant, key.second, trials));
      } else {
        report_.legal.push_back(legal_result(key.first, key.second, trials));
      }
    }
    merge_suite_scores();
    std::ranges::stable_sort(report_.mutants, [](const MutantResult& a, const MutantResult& b) {
      return a.mutant < b.mutant;
    });
    review(reviewed);
    count();
    for (const Breaker& breaker : catalogue_.breakers)
      report_.breakers.push_back(breaker.name + " (" + breaker.breaks + ")");
    return std::move(report_);
  }

 private:
  using Key = std::pair<std::string, std::string>;  // kernel, dtype

  MutantResult mutant_result(const Mutant& mutant, const std::string& dtype,
                             const std::vector<const Trial*>& trials) const {
    MutantResult result;
    result.mutant = &mutant;
    result.dtype = dtype;
    std::vector<std::string> statistics, locations, faults;
    for (const Trial* trial : trials) {
      ++result.trials;
      result.changed += trial->changed;
      result.failures += trial->fails;
      result.caught_without_lse |= trial->fails_without_lse;
      for (std::size_t rule = 0; rule < rule_count; ++rule) {
        // Any test notices a missing output.
        const bool fails =
            trial->outcome.status != Status::ok || trial->rules[rule] == RuleResult::fails;
        result.caught_by_rule[rule] |= fails;
      }
      if (!trial->fails) continue;
      result.slipped += trial->rules[allclose_1e2_index] == RuleResult::passes;
      if (result.first_case.empty()) result.first_case = trial->case_id;
      if (!trial->judgement.findings.empty())
        statistics.emplace_back(name(trial->judgement.findings.front().kind));
      if (!trial->location.empty()) locations.push_back(trial->location);
      if (!trial->fault.empty()) faults.push_back(trial->fault);
    }
    result.caught = result.failures > 0;
    result.by = most_frequent(statistics);
    result.location = most_frequent(locations);
    result.fault = most_frequent(faults);
    result.diagnosed = compare_diagnosis(mutant, result.location, result.fault);
    return result;
  }

  static LegalResult legal_result(const std::string& kernel, const std::string& dtype,
                                  const std::vector<const Trial*>& trials) {
    LegalResult result{kernel, dtype, 0, 0, "", "", {}};
    for (const Trial* trial : trials) {
      ++result.trials;
      for (std::size_t rule = 0; rule < rule_count; ++rule)
        result.rule_alarms[rule] += trial->rules[rule] == RuleResult::fails;
      if (!trial->fails) continue;
      if (result.false_alarms++ > 0) continue;
      result.first_case = trial->case_id;
      result.why = reason_of(*trial);
    }
    return result;
  }

  // A suite score names its kernel (with "/device=…" unless the device is the CPU) and the dtype of
  // Q.
  void merge_suite_scores() {
    for (const SuiteScore& score : scores_) {
      if (score.status != "fail") continue;
      const std::string kernel = score.kernel.substr(0, score.kernel.find("/device="));
      for (MutantResult& result : report_.mutants) {
        if (catalogue_.find(kernel) != result.mutant || !is_of(kernel, score.dtype, result.dtype))
          continue;
        if (!result.caught) result.by = score.statistic + " over the suite";
        result.caught = result.caught_without_lse = true;
      }
      for (LegalResult& result : report_.legal) {
        if (kernel != result.kernel || !is_of(kernel, score.dtype, result.dtype)) continue;
        if (result.false_alarms++ == 0) result.why = score.statistic + " over the suite";
      }
    }
  }

  // Returns true if the group (kernel, dtype) belongs to the score. `score_dtype` is Q's, `dtype`
  // may be P's.
  bool is_of(const std::string& kernel, const std::string& score_dtype,
             const std::string& dtype) const {
    const auto at = groups_.find({kernel, dtype});
    return at != groups_.end() && std::ranges::any_of(at->second, [&](const Trial* trial) {
             return name(trial->outcome.c.problem.dtype) == score_dtype;
           });
  }

  void review(const std::vector<ReviewedSurvivor>& reviewed) {
    for (const ReviewedSurvivor& entry : reviewed) {
      bool caught = false, survives = false;
      for (MutantResult& result : report_.mutants) {
        if (result.mutant->name != entry.name ||
            (entry.dtype != "*" && entry.dtype != result.dtype))
          continue;
        if (result.survives()) result.reviewed = entry.reason, survives = true;
        caught = caught || result.caught;
      }
      if (caught && !survives)
        report_.reviews_to_drop.push_back(entry.name + " (" + entry.dtype + ")");
    }
  }

  void count() {
    std::map<std::string, AuditRow> rows;
    for (const MutantResult& result : report_.mutants) {
      AuditRow& row = rows[result.dtype];
      for (std::size_t rule = 0; rule < rule_count; ++rule) {
        row.rules[rule].caught += result.counts() && result.caught_by_rule[rule];
      }
      row.mutants += result.counts();
      row.caught += result.counts() && result.caught;
      row.caught_without_lse += result.counts() && result.caught_without_lse;
      row.pass_allclose_1e2 += result.counts() && !result.caught_by_rule[allclose_1e2_index];
      row.slip_allclose_1e2 += result.counts() && result.slipped > 0;
    }
    for (const LegalResult& result : report_.legal) {
      AuditRow& row = rows[result.dtype];
      ++row.legal;
      row.legal_flagged += result.false_alarms > 0;
      row.legal_trials += result.trials;
      row.false_alarms += result.false_alarms;
      for (std::size_t rule = 0; rule < rule_count; ++rule) {
        row.rules[rule].legal_flagged += result.rule_alarms[rule] > 0;
        row.rules[rule].alarms += result.rule_alarms[rule];
      }
    }
    count_applicable(rows);
    for (const char* dtype : {"fp16", "bf16", "fp32", "tf32", "fp8"}) {
      if (const auto at = rows.find(dtype); at != rows.end())
        report_.rows.push_back(at->second), report_.rows.back().dtype = dtype;
    }
    count_classes();
    count_diagnoses();
    std::set<std::string> problems;
    for (const Trial& trial : trials_) {
      if (!trial.ran) continue;
      ++report_.trials;
      problems.insert(problem_id(trial.outcome.c.problem));
    }
    report_.problems = problems.size();
  }

  void count_applicable(std::map<std::string, AuditRow>& rows) const {
    for (const Trial& trial : trials_) {
      if (!trial.ran) continue;
      for (std::size_t rule = 0; rule < rule_count; ++rule) {
        rows[trial.dtype].rules[rule].applies |= trial.rules[rule] != RuleResult::not_applicable;
      }
    }
  }

  void count_classes() {
    std::set<std::string> caught, asked;
    for (const MutantResult& result : report_.mutants) {
      const Mutant& mutant = *result.mutant;
      const std::string mode = result.dtype == "fp8" ? "e4m3" : result.dtype;
      const bool expected =
          mutant.modes.empty() || std::ranges::find(mutant.modes, mode) != mutant.modes.end();
      if (expected) asked.insert(mutant.bug_class);
      if (!result.counts() && expected)
        report_.inert.push_back(mutant.name + " (" + result.dtype + ")");
      if (result.counts() && result.caught) caught.insert(mutant.bug_class);
    }
    for (const std::string& claim : catalogue_.claims) {
      if (caught.contains(claim)) continue;
      (whole_ || asked.contains(claim) ? report_.mistrusted : report_.not_run).push_back(claim);
    }
  }

  // A mutant's diagnosis is the most frequent one over the dtypes that catch it.
  void count_diagnoses() {
    for (const Mutant& mutant : catalogue_.mutants) {
      std::array<int, 4> found{};
      for (const MutantResult& result : report_.mutants) {
        if (result.mutant == &mutant && result.counts() && result.failures > 0)
          ++found[static_cast<std::size_t>(result.diagnosed)];
      }
      const auto most = std::ranges::max_element(found);
      if (*most > 0) ++report_.diagnoses[static_cast<std::size_t>(most - found.begin())];
    }
  }

  const std::vector<Trial>& trials_;
  const std::vector<SuiteScore>& scores_;
  const Catalogue& catalogue_;
  const bool whole_;
  std::map<Key, std::vector<const Trial*>> groups_;
  AuditReport report_;
};

}  // namespace

int AuditReport::unreviewed_survivors() const {
  return static_cast<int>(std::ranges::count_if(
      mutants, [](const MutantResult& m) { return m.survives() && m.reviewed.empty(); }));
}

int AuditReport::false_alarms() const {
  int alarms = 0;
  for (const AuditRow& row : rows) alarms += row.false_alarms;
  return alarms;
}

int AuditReport::exit_code() const {
  if (trials == 0) return exit_nothing;
  return unreviewed_survivors() > 0 || false_alarms() > 0 || !mistrusted.empty() ? exit_failure
                                                                                 : exit_fine;
}

AuditReport summarise(const std::vector<Trial>& trials, const std::vector<SuiteScore>& scores,
                      const Catalogue& catalogue, const std::vector<ReviewedSurvivor>& reviewed,
                      bool whole) {
  return Summary(trials, scores, catalogue, whole).run(reviewed);
}

}  // namespace plumbline
