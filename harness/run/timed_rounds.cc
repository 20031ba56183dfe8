// Holds the outcomes of the first round until every further round has added its times.
#include "harness/run/timed_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/timing/throughput.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

// A case of the plan, or one side of a diff.
struct TimedCase {
  PlannedCase planned;
  std::optional<Outcome> outcome;  // held until all rounds are done
  std::shared_ptr<const Geometry> geometry = nullptr;
  // An equal case that is measured earlier in each round; its times are used.
  const TimedCase* same = nullptr;
};

// Cases that are reported together.
struct TimedStep {
  std::vector<TimedCase*> cases;
  const PlannedDiff* diff = nullptr;
  std::optional<DiffOutcome> diff_outcome;
};

class TimedRounds {
 public:
  TimedRounds(const Runner& runner, const Plan& plan, const RunSinks& sinks,
              const std::function<bool()>& stopped)
      : sinks_(sinks),
        stopped_(stopped),
        pace_(*runner.pace),
        extra_rounds_(runner.options.extra_time_rounds),
        measurer_(runner.options, runner.providers, runner.contracts) {
    for (const PlannedCase& planned : plan.cases) {
      if (planned.timed) steps_.push_back({{add(planned)}, nullptr, std::nullopt});
    }
    for (const PlannedDiff& diff : plan.diffs) {
      if (diff.a.timed || diff.b.timed)
        steps_.push_back({{add(diff.a), add(diff.b)}, &diff, std::nullopt});
    }
  }

  // Returns false if the run was stopped. In this case, only failures have been passed on.
  bool measure() {
    for (TimedStep& step : steps_) {
      if (stopped_()) return false;
      judge_and_time(step);
      sinks_.progress();
    }
    for (int round = 2; round <= time_rounds_on_cpu; ++round) {
      for (TimedStep& step : steps_) {
        if (round > rounds_of(step)) continue;
        if (stopped_()) return false;
        for (TimedCase* c : step.cases) {
          if (round <= time_rounds_of(c->planned.c)) time_again(*c, round);
        }
        sinks_.progress();
      }
    }
    measure_disturbed_again();
    return true;
  }

  void pass_on() {
    for (TimedStep& step : steps_) {
      for (TimedCase* c : step.cases) {
        if (c->outcome) summarise_rounds(*c->outcome, pace_.ns());
        if (c->outcome && c->same == nullptr) fill_achieved(*c->geometry, *c->outcome);
        reuse_times(*c);
      }
      if (step.diff_outcome) {
        step.diff_outcome->time_ns_a = step.cases[0]->outcome ? step.cases[0]->outcome->time_ns : 0;
        step.diff_outcome->time_ns_b = step.cases[1]->outcome ? step.cases[1]->outcome->time_ns : 0;
      }
    }
    for (TimedStep& step : steps_) {
      for (TimedCase* c : step.cases) {
        if (c->outcome) sinks_.outcome(std::move(*c->outcome));
      }
      if (step.diff_outcome) sinks_.diff(std::move(*step.diff_outcome));
    }
  }

  // Returns the late crashes of all rounds. Call this after pass_on(), because the outcomes of
  // their suspects must have been passed on.
  std::vector<LateCrash> finish() {
    std::vector<LateCrash> all = std::move(lates_);
    for (LateCrash& late : measurer_.finish()) all.push_back(std::move(late));
    return all;
  }
  // Returns the cases of the plan that ran successfully. Call this before pass_on().
  std::vector<const PlannedCase*> well() const {
    std::vector<const PlannedCase*> cases;
    for (const TimedStep& step : steps_) {
      if (step.diff == nullptr && step.cases[0]->outcome &&
          step.cases[0]->outcome->status == Status::ok)
        cases.push_back(&step.cases[0]->planned);
    }
    return cases;
  }

 private:
  TimedCase* add(const PlannedCase& planned) {
    TimedCase* added = &cases_.emplace_back(TimedCase{planned, std::nullopt, nullptr, nullptr});
    if (!planned.timed) return added;
    const auto [at, fresh] = first_.try_emplace(planned.case_id, added);
    if (!fresh) {
      added->same = at->second;
      added->planned.timed = false;
    }
    return added;
  }

  static int rounds_of(const TimedStep& step) {
    int rounds = 0;
    for (const TimedCase* c : step.cases) rounds = std::max(rounds, time_rounds_of(c->planned.c));
    return rounds;
  }

  // A disturbance that lasted through all rounds of a case may have passed by now.
  void measure_disturbed_again() {
    for (int extra = 1; extra <= extra_rounds_; ++extra) {
      const std::vector<TimedCase*> disturbed = disturbed_cases();
      if (disturbed.empty()) return;
      if (sinks_.more) {
        sinks_.more(fmt::format("{} of {} timed cases were disturbed: extra round {} of {}",
                                disturbed.size(), cases_.size(), extra, extra_rounds_));
      }
      for (TimedCase* c : disturbed) {
        if (stopped_()) return;
        time_again(*c, time_rounds_of(c->planned.c) + extra);
      }
    }
  }

  std::vector<TimedCase*> disturbed_cases() const {
    std::vector<TimedCase*> found;
    for (const TimedStep& step : steps_) {
      for (TimedCase* c : step.cases) {
        if (c->outcome && c->same == nullptr && c->planned.timed &&
            !has_quiet_rounds(c->outcome->times.rounds, time_rounds_of(c->planned.c), pace_.ns()))
          found.push_back(c);
      }
    }
    return found;
  }

  void keep(TimedCase& c, Measurement measurement) {
    if (measurement.late) lates_.push_back(std::move(*measurement.late));
    if (measurement.outcome.status == Status::ok) {
      for (const TimeRound& round : measurement.outcome.times.rounds) pace_.add(round);
      c.outcome = std::move(measurement.outcome);
      c.geometry = std::move(measurement.geometry);
    } else {
      sinks_.outcome(std::move(measurement.outcome));
    }
  }

  void judge_and_time(TimedStep& step) {
    if (step.diff == nullptr) {
      measurer_.measure({&step.cases[0]->planned},
                        [&](Measurement m) { keep(*step.cases[0], std::move(m)); });
      return;
    }
    PlannedDiff diff = *step.diff;
    diff.a = step.cases[0]->planned;
    diff.b = step.cases[1]->planned;
    std::size_t side = 0;
    step.diff_outcome =
        measurer_.measure(diff, [&](Measurement m) { keep(*step.cases[side++], std::move(m)); });
  }

  void time_again(TimedCase& c, int round) {
    if (!c.planned.timed || !c.outcome || c.outcome->status != Status::ok) return;
    RoundResult again = measurer_.measure_round(c.planned, pace_.ns());
    if (again.status == Status::ok) {
      pace_.add(again.round);
      c.outcome->times.rounds.push_back(std::move(again.round));
      summarise_rounds(*c.outcome);
      if (c.outcome->repeat_equal && again.output_digest != c.outcome->output_digest) {
        c.outcome->repeat_equal = false;
        c.outcome->call_difference =
            fmt::format("timing round {}, in a process of its own, gave other bits", round);
      }
      return;
    }
    c.outcome->status = again.status;
    c.outcome->reason = fmt::format("in timing round {}: {}", round, again.reason);
    sinks_.outcome(std::move(*c.outcome));
    c.outcome.reset();
  }

  void reuse_times(TimedCase& c) {
    if (c.same == nullptr || !c.outcome || !c.same->outcome) return;
    c.outcome->times = c.same->outcome->times;
    c.outcome->peak_memory_bytes = c.same->outcome->peak_memory_bytes;
    summarise_rounds(*c.outcome, pace_.ns());
  }

  const RunSinks& sinks_;
  const std::function<bool()>& stopped_;
  SentinelPace& pace_;
  int extra_rounds_;
  Measurer measurer_;
  std::deque<TimedCase> cases_;                    // a deque keeps its elements in place
  std::map<std::string, const TimedCase*> first_;  // by case id
  std::vector<TimedStep> steps_;
  std::vector<LateCrash> lates_;
};

}  // namespace

void run_timed(const Runner& runner, const Plan& plan, const RunSinks& sinks,
               const std::function<bool()>& stopped,
               const std::function<void(const PlannedCase&)>& invariances_of) {
  TimedRounds rounds(runner, plan, sinks, stopped);
  if (!rounds.measure()) return;
  const auto well = rounds.well();
  rounds.pass_on();
  for (const LateCrash& late : rounds.finish()) {
    if (sinks.late) sinks.late(late);
  }
  for (const PlannedCase* planned : well) invariances_of(*planned);
}

}  // namespace plumbline
