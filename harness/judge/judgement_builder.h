// Collects the findings about an outcome. The worst of them is the verdict.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "harness/contract/limits.h"
#include "harness/judge/judgement.h"
#include "harness/provider/status.h"

namespace plumbline {

struct ExpectedFailure;

class JudgementBuilder {
 public:
  // Makes the verdict at least as bad as `verdict`, without a finding.
  void at_least(Verdict verdict) { judgement_.verdict = worse_of(judgement_.verdict, verdict); }

  void find(Verdict verdict, Finding finding) {
    at_least(verdict);
    judgement_.findings.push_back(std::move(finding));
  }

  void change(Change change) { judgement_.changes.push_back(std::move(change)); }

  void time_against_past(TimeAgainstPast times) { judgement_.time_against_past = times; }

  void note(std::string_view text) { judgement_.notes.emplace_back(text); }

  // Records how near a statistic is to its limit. Returns true if it is within the limit.
  bool measure(const std::string& statistic, double value, double limit) {
    const double percent =
        std::isnan(value) ? std::numeric_limits<double>::infinity() : 100 * value / limit;
    if (judgement_.nearest_statistic.empty() || percent > judgement_.percent_of_limit) {
      judgement_.percent_of_limit = percent;
      judgement_.nearest_statistic = statistic;
    }
    return within(value, limit);
  }

  Verdict verdict() const { return judgement_.verdict; }
  Judgement finish() { return std::move(judgement_); }

 private:
  static Judgement plain_pass() {
    Judgement judgement;
    judgement.verdict = Verdict::pass;
    return judgement;
  }

  Judgement judgement_ = plain_pass();
};

// Returns the judgement of a case that is expected to fail; `today` as in JudgeInputs.
Judgement judge_expected(Judgement judgement, const ExpectedFailure& expected,
                         std::string_view today);

// Returns the verdict of a case that has no output, for example crashed or timeout.
Verdict verdict_of(Status status);

}  // namespace plumbline
