// The judge's conclusion about one outcome: a verdict and its reasons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/contract/contract_snapshot.h"
#include "harness/judge/change.h"
#include "harness/judge/finding_kind.h"
#include "harness/judge/verdict.h"
#include "harness/timing/time_gate.h"

namespace plumbline {

struct Finding {
  FindingKind kind = FindingKind::other;
  double value = 0, limit = 0;
  std::string text;  // a sentence
  bool operator==(const Finding&) const = default;
};

// A time compared with earlier times of its series.
struct TimeAgainstPast {
  int runs = 0;      // nights that the level rests on
  double ratio = 0;  // time_ratio over the level
  bool operator==(const TimeAgainstPast&) const = default;
};

// The gate's conclusion about a night's time (harness/timing). Level and limit are ratios to the
// sentinel's time, as time_ratio is.
struct GatedTime {
  std::string finding;  // "too few", "quiet", "slower", "faster", "drifted", "set aside"
  int nights = 0;       // nights that the level rests on: those since its last change
  int pool = 1;         // nights whose mean was compared
  double level = 0, spread = 0, limit = 0;  // spread: relative, between nights
  double change = 0;     // mean of the pooled nights over the level or the pin, minus 1
  double deviation = 0;  // `change` over its standard deviation
  bool operator==(const GatedTime&) const = default;
};

struct Judgement {
  Verdict verdict = Verdict::error;
  std::vector<Finding> findings;  // the reasons; empty for a plain pass
  double percent_of_limit = 0;    // the statistic nearest to its limit; > 100 fails
  std::string nearest_statistic;
  std::vector<std::string> notes;  // "lse=absent: denominator and exp2 errors could not be seen"
  // Only for cases, not for diffs and invariances.
  std::vector<Change> changes;  // stored with the run
  std::optional<ContractSnapshot>
      terms;  // the contract in force; absent: judged by an older plumbline
  std::optional<TimeAgainstPast> time_against_past;  // only for a timed case with a past
  std::optional<GatedTime> gated_time;               // only for a timed case that was gated
  // Result of measuring a regression again in fresh processes; nullopt: not measured again.
  std::optional<Confirmation> confirmation;
  bool operator==(const Judgement&) const = default;
};

}  // namespace plumbline
