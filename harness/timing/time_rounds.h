// What the rounds of a timed case come to: one ratio that gates, and what reports show beside it.
#pragma once

#include "harness/outcome/times.h"

namespace plumbline {

struct Case;
struct CaseRun;
struct Timing;

// A timed case is measured so many times, each time in a worker process of its own. All timed cases
// are measured once before any of them is measured again: what disturbs the machine for a second
// then spoils one round of a few cases, and where a process lies in memory counts once. On the CPU
// that place alone moves the least time of a process by about 1 %, and only the least over many
// processes is the same every night. A GPU, real or emulated, takes longer to begin than to measure
// and has its own memory: three processes.
inline constexpr int time_rounds_on_cpu = 7, time_rounds_on_device = 3;
int time_rounds_of(const Case& c);

// Of `repetitions` over so many rounds, those of one: rounded up, and at least 1.
int repetitions_of_round(int repetitions, int rounds);

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
// A round is quiet where so many of its repetitions are, or its only one.
inline constexpr int quiet_repetitions_of_round = 2;
// Rounds beyond the usual ones that a night spends on a case until as many as usual are quiet.
inline constexpr int extra_rounds_of_night = 15;

// Whether a further round would tell nothing: so many rounds are quiet, or there is no processor
// time to tell by, or no time at all.
bool has_quiet_rounds(const std::vector<TimeRound>& rounds, int wanted, double pace_ns);

// Whether a case was disturbed in all rounds that a night spends on the CPU, so that its time
// cannot be compared: fewer than 5 rounds were quiet. The least of few processes is too slow, by
// 0.4 % from 2 and by 1.5 % from 1 in the median, and by up to 8 %. Never by fewer than 40
// repetitions in all, which are only asked for by who wants to be done soon.
bool is_disturbed(const std::vector<TimeRound>& rounds);

// Fills what an outcome says of its rounds beside them. time_ns and time_mad_ns are the median and
// the median deviation of all repetitions. Where the pace of the sentinel is known and repetitions
// of some rounds are quiet, time_ratio, cpu_ns and sentinel_ns are by the least times of the quiet
// repetitions of the first 7 quiet rounds (the least over more would be less), or, where no round
// is quiet, of all quiet repetitions; else they are the medians over rounds of what round_of()
// says. Without a round nothing is timed.
void summarise_rounds(CaseRun& run, double pace_ns = 0);

}  // namespace plumbline
