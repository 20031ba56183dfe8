// What the judge concludes of one outcome: a verdict, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/contract/terms.h"
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

// A time beside those of the same series before.
struct TimeAgainstPast {
  int runs = 0;      // before it, since the last accept or pin
  double ratio = 0;  // its time over their median
  bool operator==(const TimeAgainstPast&) const = default;
};

// The gate's conclusion on a night's time (harness/timing). Level, spread and limit are
// ratios to the sentinel, as time_ratio is.
struct GatedTime {
  std::string finding;  // "too few", "quiet", "slower", "faster", "drifted", "set aside"
  int nights = 0;       // of the level: since its last change
  int pool = 1;         // nights that were pooled for the finding
  double level = 0, spread = 0, limit = 0;  // spread: relative, between nights
  double change = 0;                        // relative to the level, of the pooled nights
  double deviation = 0;                     // in spreads
  bool operator==(const GatedTime&) const = default;
};

struct Judgement {
  Verdict verdict = Verdict::error;
  std::vector<Finding> findings;  // why; empty for a plain pass
  double percent_of_limit = 0;    // the statistic nearest to its limit; > 100 fails
  std::string nearest_statistic;
  std::vector<std::string> notes;  // "lse=absent: denominator and exp2 errors could not be seen"
  // Of a case alone, not of diffs and invariances.
  std::vector<Change> changes;  // stored with the run
  std::optional<Terms> terms;   // what it was held to; absent: an older plumbline judged it
  std::optional<TimeAgainstPast> time_against_past;  // of a timed case with a past
  std::optional<GatedTime> gated_time;               // of a timed case that was gated
  // The answer of fresh processes to a regression; nullopt: not measured again.
  std::optional<Confirmation> confirmation;
  bool operator==(const Judgement&) const = default;
};

}  // namespace plumbline
