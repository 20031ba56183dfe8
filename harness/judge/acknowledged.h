// What it means for a verdict that somebody has seen a regression and said why it stays for now.
#pragma once

#include <string_view>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement.h"

namespace plumbline {

struct Outcome;

// Becomes `acknowledged` where the judgement is a regression (confirmed or still open), or a
// failure with the very bits that were acknowledged, and the outcome is not worse than then by more
// than noise: its error by drift_noise(), its time by time_noise(). A note names who said why, and
// what the verdict would be. Stays, with a note that says so, where it is worse, where the outcome
// was not timed then, and from the day `until` on. Any other failure and whatever is fine stays
// without a word. `today`: "2027-01-30" in UTC; "" = none has expired.
Judgement judge_acknowledged(Judgement judgement, const Outcome& outcome,
                             const Acknowledgement& acknowledged, std::string_view today);

// The ratio of two nights' times beyond which the second is slower by more than noise: three
// standard deviations of a difference, and at least 2 %; 1.25 where the gate knows no spread.
double time_noise(const Judgement& judgement);

}  // namespace plumbline
