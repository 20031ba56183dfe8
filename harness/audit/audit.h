// An audit's result: which known bugs the judge catches and which legal kernels it flags. The rules
// of other projects are counted on the same outputs. docs/audit.md explains the figures.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/audit/catalogue.h"
#include "harness/audit/rules.h"

namespace plumbline {

struct SuiteScore;
struct Trial;

// none: neither a location nor a fault was found; not_stated: the catalogue expects none
enum class DiagnosisResult { right, wrong, none, not_stated };
template <>
inline constexpr std::array<std::string_view, 4> names_of<DiagnosisResult>{"right", "wrong", "none",
                                                                           "not stated"};

// One mutant in one dtype, over all problems of the suite.
struct MutantResult {
  const Mutant* mutant = nullptr;
  std::string dtype;
  int trials = 0;  // problems that the mutant ran
  // … whose bits differ from the correct kernel's or between calls, or that have no output. 0: the
  // mutant does not count.
  int changed = 0;
  int failures = 0;     // … that the judge fails
  int slipped = 0;      // … failed by the judge, but passed by allclose 1e-2
  bool caught = false;  // by a case, or by a statistic of the suite
  bool caught_without_lse = false;
  std::array<bool, rule_count> caught_by_rule{};
  std::string by;          // the most frequent finding ("peak", "shrink over the suite")
  std::string first_case;  // case id of the first failure, "" if none
  std::string location;    // the most frequent one among failures
  // The most frequent one among failures: "nan", "unwritten", …
  std::string fault;
  DiagnosisResult diagnosed = DiagnosisResult::not_stated;
  std::string reviewed;  // for a survivor: the reason in baselines/audit.toml, or ""
  bool counts() const { return changed > 0; }
  bool survives() const { return counts() && !caught; }
};

// One legal kernel in one dtype.
struct LegalResult {
  std::string kernel, dtype;
  int trials = 0;
  int false_alarms = 0;    // trials that the judge fails, and statistics of the suite
  std::string first_case;  // the first false alarm
  std::string why;
  std::array<int, rule_count> rule_alarms{};  // trials that the rule fails
};

// One row of the table: a dtype.
struct AuditRow {
  std::string dtype;
  int mutants = 0, caught = 0, caught_without_lse = 0;  // only mutants that count
  int pass_allclose_1e2 = 0;  // … that allclose 1e-2 passes in all cases
  int slip_allclose_1e2 = 0;  // … that allclose 1e-2 passes in some case that the judge fails
  int legal = 0, legal_flagged = 0, legal_trials = 0, false_alarms = 0;
  struct OfRule {
    bool applies = false;
    int caught = 0;         // mutants that count
    int legal_flagged = 0;  // legal kernels with at least one alarm
    int alarms = 0;         // trials of legal kernels that the rule fails
  };
  std::array<OfRule, rule_count> rules{};
};

struct AuditReport {
  std::vector<std::string> suites;
  std::size_t problems = 0, trials = 0;
  double seconds = 0;
  std::vector<AuditRow> rows;
  std::vector<MutantResult> mutants;  // in catalogue order, then by dtype
  std::vector<LegalResult> legal;
  // Mutants, as "name (dtype)", that changed no bit although the catalogue says that they act in
  // the dtype: the suite does not exercise them.
  std::vector<std::string> inert;
  // Bug classes in the catalogue's `claims` of which no mutant was caught, and those that the cases
  // cannot test, because no mutant of the class counts in their dtypes.
  std::vector<std::string> mistrusted, not_run;
  std::vector<std::string> reviews_to_drop;  // reviewed survivors that are now caught
  // Kernels that only invariances can judge: "varies_solo (solo)".
  std::vector<std::string> breakers;
  // Numbers of mutants that fail a case, by DiagnosisResult. A mutant counts once over all dtypes.
  std::array<int, 4> diagnoses{};

  int unreviewed_survivors() const;
  int false_alarms() const;
  // Returns 4 if nothing was measured, 1 for an unreviewed survivor, a false alarm or a mistrusted
  // class, otherwise 0.
  int exit_code() const;
};

// `scores` are suite_scores of the trials. `whole`: the trials cover all cases of the suites;
// otherwise a class may be in not_run.
AuditReport summarise(const std::vector<Trial>& trials, const std::vector<SuiteScore>& scores,
                      const Catalogue& catalogue, const std::vector<ReviewedSurvivor>& reviewed,
                      bool whole = true);

}  // namespace plumbline
