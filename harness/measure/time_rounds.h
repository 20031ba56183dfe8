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

// How fast the sentinel runs on this machine while nobody disturbs it. On a virtual machine the
// core may be shared with somebody whom no load average shows: there the sentinel takes 1.4 times
// as long, and a kernel that waits for memory 1.2 times, so that their ratio moves, too.
class SentinelPace {
 public:
  // A round by processor time; others are left out.
  void add(const TimeRound& round);
  // The tenth of all rounds that is fastest begins here; 0 = no round yet.
  double ns() const;

 private:
  std::vector<double> least_ns_;  // of each round
};
// A repetition is quiet where the sentinel before it and the one behind it took at most so many
// times the pace.
inline constexpr double most_of_pace = 1.06;
// Quiet repetitions that a case should have over its rounds, and the rounds beyond the usual ones
// that a night spends on it.
inline constexpr int quiet_repetitions_wanted = 12;
inline constexpr int extra_rounds_of_night = 6;

// Whether a further round would tell nothing: enough repetitions are quiet, or there is no
// processor time to tell by, or no time at all.
bool has_quiet_repetitions(const std::vector<TimeRound>& rounds, double pace_ns);

// Whether a case was disturbed in all rounds that a night spends on it, so that its time cannot be
// compared: fewer than 3 of 40 repetitions or more were quiet, and the least of so few is too slow
// by up to 6 %. Never where rounds are left, or repetitions are few.
bool is_disturbed(const std::vector<TimeRound>& rounds);

// Fills what an outcome says of its rounds beside them. time_ns and time_mad_ns are the median and
// the median deviation of all repetitions. Where the pace of the sentinel is known and repetitions
// of some rounds are quiet, time_ratio, cpu_ns and sentinel_ns are by the least times of all quiet
// repetitions; else they are the medians over rounds of what round_of() says. Without a round
// nothing is timed.
void summarise_rounds(CaseRun& run, double pace_ns = 0);

}  // namespace plumbline
