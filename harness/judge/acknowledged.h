// Keeps an acknowledged regression from failing a run until it gets worse or its date comes.
#pragma once

#include <string_view>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement.h"

namespace plumbline {

struct Outcome;

// Turns the verdict into `acknowledged` if
// - it is a regression (confirmed or still open), or a failure with exactly the acknowledged bits,
// - the bits are the acknowledged ones, or the error is not worse by more than drift_noise(),
// - and a time finding's time is not worse by more than time_noise().
//
// A note then names the user, the reason and the replaced verdict. If the outcome got worse, if a
// time finding has no acknowledged time, or from the day `until` on, the verdict stays and a note
// says why. Other judgements do not change. `today`: "2027-01-30" in UTC; "" = nothing has expired.
Judgement judge_acknowledged(Judgement judgement, const Outcome& outcome,
                             const Acknowledgement& acknowledged, std::string_view today);

// Returns the ratio of two nights' times above which the second is slower by more than noise: three
// standard deviations of a difference, and at least 2 %; 1.25 if the gate has no spread yet.
double time_noise(const Judgement& judgement);

}  // namespace plumbline
