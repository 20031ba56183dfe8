// What the rounds of a timed case come to: one ratio that gates, and what reports show beside it.
#pragma once

#include "harness/outcome/times.h"

namespace plumbline {

struct CaseRun;
struct Timing;

// A timed case is measured so many times, each time in a worker process of its own. All timed cases
// are measured once before any of them is measured again: what disturbs the machine for a second
// then spoils one round of a few cases, and where a process lies in memory counts once.
inline constexpr int time_rounds = 3;

// Of `repetitions` over all rounds, those of one: rounded up, and at least 1.
int repetitions_of_round(int repetitions);

// Load average of this host over one minute; 0 = not known.
double load_average();

// A round of what a worker measured, with its ratio: the least processor time of a kernel's call
// over that of the sentinel's. Where there is no processor time (on a GPU, or by a worker that does
// not tell) by the clock that there is. What else runs on the machine only ever adds time.
TimeRound round_of(Timing timing, double load);

// Fills what an outcome says of its rounds beside them. time_ns and time_mad_ns are the median and
// the median deviation of all repetitions; time_ratio is the median of the rounds' ratios, and so
// are cpu_ns and sentinel_ns of their least times. Without a round nothing is timed.
void summarise_rounds(CaseRun& run);

}  // namespace plumbline
