// Summarises the rounds of a timed case: the ratio that the gate judges, and figures for reports.
#pragma once

#include "harness/outcome/times.h"

namespace plumbline {

struct Case;
struct CaseRun;
struct Timing;

// Rounds of a timed case, each in its own worker process. All timed cases are measured once before
// any is measured again, so a disturbance of a second spoils one round of a few cases. On the CPU,
// a process's place in memory alone moves its least time by about 1 %. Only the least time over
// many processes is the same every night. A GPU, real or emulated, takes longer to start than to
// measure, and has its own memory: three processes.
inline constexpr int time_rounds_on_cpu = 7, time_rounds_on_device = 3;
int time_rounds_of(const Case& c);

// Returns the repetitions of one round: `repetitions` over `rounds`, rounded up, and at least 1.
int repetitions_of_round(int repetitions, int rounds);

// Returns this host's load average over one minute; 0 = unknown.
double load_average();

// Returns a worker's measurement as a round, with its ratio: the least processor time of the
// kernel's calls over the sentinel's. Least times, because other work on the machine only adds
// time. Without processor time (on a GPU, or if the worker does not report it), kernel_ns and
// sentinel_ns count.
TimeRound round_of(Timing timing, double load);

// The time of the sentinel on this machine while it is undisturbed. On a virtual machine, the core
// may be shared with work that no load average shows. The sentinel then takes 1.4 times as long,
// and a kernel that waits for memory 1.2 times, so their ratio moves as well.
class SentinelPace {
 public:
  // Adds a round with processor time; ignores others.
  void add(const TimeRound& round);
  // Returns the 10th percentile of the rounds' least times; 0 = no round yet.
  double ns() const;

 private:
  std::vector<double> min_ns_;  // for each round
};
// A repetition is quiet if the sentinels before and after it took at most this many times the pace.
inline constexpr double max_sentinel_slowdown = 1.06;
// Quiet repetitions that make a round quiet; one, if it has only one repetition.
inline constexpr int quiet_repetitions_of_round = 2;
// Rounds that a night may add to a case until the usual number of rounds is quiet.
inline constexpr int extra_rounds_of_night = 15;

// Returns true if another round adds nothing: `wanted` rounds are quiet, there is no processor time
// to tell by, or there is no round at all.
bool has_quiet_rounds(const std::vector<TimeRound>& rounds, int wanted, double pace_ns);

// Returns true if a case's time cannot be compared: the night has spent all rounds of a CPU case,
// and fewer than 5 were quiet. The least time of few processes is too long: the median excess is
// 0.4 % with 2 and 1.5 % with 1, the maximum 8 %. Always false for fewer than 40 repetitions in
// all, which only quick runs measure.
bool is_disturbed(const std::vector<TimeRound>& rounds);

// Fills the times of a run from its rounds; without a round, nothing is timed. time_ns and
// time_mad_ns are the median and the median absolute deviation of all repetitions. time_ratio,
// cpu_ns and sentinel_ns follow from
// - the least times of quiet repetitions in the first 7 quiet rounds, if the pace is known (the
//   least over more rounds would be less);
// - if no round is quiet, the least times of all quiet repetitions;
// - if no repetition is quiet, medians over the rounds' own ratios and least times.
void summarise_rounds(CaseRun& run, double pace_ns = 0);

}  // namespace plumbline
