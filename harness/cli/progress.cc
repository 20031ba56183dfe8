// Estimates the remaining time from the steps done so far, and prints it on stderr.
#include "harness/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "harness/timing/time_limit.h"
#include "harness/timing/time_rounds.h"

namespace plumbline::cli {
namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Returns the seconds that a round of a timed case takes on a machine as in docs/performance.md.
// The kernel and the sentinel each take up to 100 ms, or four calls if these take longer. The
// reference and other work take 0.3 s plus the time of four calls. A call runs 5e9 multiply-adds a
// second (emulated: 5e7). After the first timed step, only the ratios of the estimates matter.
double expected_seconds(const PlannedCase& planned, int repetitions) {
  constexpr double host = 5e9, emulated = 5e7;
  const double calls = multiply_adds(planned.c.problem) /
                       (planned.c.device.starts_with("emulated:") ? emulated : host);
  const double least = std::max(0.002, calls) * std::min(4, repetitions);
  return 0.3 + 2 * std::max(std::min(0.1, 0.002 * repetitions), least) + 4 * calls;
}

}  // namespace

RemainingTime::RemainingTime(std::size_t untimed_steps, std::vector<double> timed_costs)
    : untimed_steps_(untimed_steps), timed_(std::move(timed_costs)) {}

void RemainingTime::step(double seconds) {
  ++done_;
  seconds_ = seconds;
  if (done_ <= untimed_steps_) untimed_seconds_ = seconds;
}

double RemainingTime::seconds_left() const {
  if (done_ == 0) return 0;
  const auto cost = [&](std::size_t first, std::size_t last) {
    return std::accumulate(timed_.begin() + static_cast<std::ptrdiff_t>(first),
                           timed_.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  };
  if (done_ <= untimed_steps_)
    return seconds_ / static_cast<double>(done_) * static_cast<double>(untimed_steps_ - done_) +
           cost(0, timed_.size());
  const std::size_t timed_done = done_ - untimed_steps_;
  const double scale = (seconds_ - untimed_seconds_) / std::max(cost(0, timed_done), 1e-9);
  return scale * cost(timed_done, timed_.size());
}

RemainingTime remaining_time(const Plan& plan, int repetitions) {
  std::size_t untimed_steps = 0;
  // The rounds alternate: all steps run once before any step runs again.
  struct Step {
    double seconds = 0;  // of one round
    int rounds = 0;
  };
  std::vector<Step> steps;
  const auto add_rounds = [&](const PlannedCase& c, const PlannedCase* other) {
    Step step;
    for (const PlannedCase* each : {&c, other}) {
      if (each == nullptr) continue;
      const int rounds = time_rounds_of(each->c);
      step.seconds += expected_seconds(*each, repetitions_of_round(repetitions, rounds));
      step.rounds = std::max(step.rounds, rounds);
    }
    steps.push_back(step);
  };
  for (const PlannedCase& c : plan.cases) {
    if (c.timed) {
      add_rounds(c, nullptr);
    } else {
      ++untimed_steps;
    }
  }
  for (const PlannedDiff& d : plan.diffs) {
    if (d.a.timed || d.b.timed) {
      add_rounds(d.a, &d.b);
    } else {
      ++untimed_steps;
    }
  }
  std::vector<double> timed;
  for (int round = 1; round <= time_rounds_on_cpu; ++round) {
    for (const Step& step : steps) {
      if (round <= step.rounds) timed.push_back(step.seconds);
    }
  }
  return RemainingTime(untimed_steps, std::move(timed));
}

Progress::Progress(RemainingTime remaining, bool quiet)
    : remaining_(std::move(remaining)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (!quiet_ && terminal_ && printed_) fmt::print(stderr, "\r\033[K");
}

void Progress::step() {
  remaining_.step(seconds(Clock::now() - start_));
  if (quiet_) return;
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (Clock::now() - last_ >= pause) print();
}

void Progress::tell(const std::string& what) {
  const auto pause = terminal_ ? std::chrono::milliseconds(0) : std::chrono::milliseconds(10'000);
  if (quiet_ || Clock::now() - last_ < pause) return;
  last_ = Clock::now();
  printed_ = true;
  fmt::print(stderr, fmt::runtime(terminal_ ? "\r\033[K{}" : "{}\n"), what);
  std::fflush(stderr);
}

void Progress::print() {
  last_ = Clock::now();
  printed_ = true;
  const auto text =
      fmt::format("[{}/{}] {:.0f} s, about {:.0f} s left", remaining_.done(), remaining_.total(),
                  seconds(last_ - start_), remaining_.seconds_left());
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

}  // namespace plumbline::cli
