// Spreads the untimed tasks of a plan over threads. The timed cases follow, one at a time.
#include "harness/run/runner.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <thread>

#include "harness/base/harness_failure.h"
#include "harness/measure/invariance.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/outcome/invariance_outcome.h"
#include "harness/run/timed_rounds.h"

namespace plumbline {
namespace {

// Work that shares inputs: the cases of one problem, or one diff.
struct Task {
  std::vector<const PlannedCase*> cases;
  const PlannedDiff* diff = nullptr;
};

std::vector<Task> untimed_tasks(const Plan& plan) {
  std::vector<Task> tasks;
  std::map<std::string, std::size_t> by_problem;
  for (const auto& planned : plan.cases) {
    if (planned.timed) continue;
    const auto [at, fresh] = by_problem.try_emplace(problem_id(planned.c.problem), tasks.size());
    if (fresh) tasks.emplace_back();
    tasks[at->second].cases.push_back(&planned);
  }
  for (const auto& diff : plan.diffs) {
    if (!diff.a.timed && !diff.b.timed) tasks.push_back({{}, &diff});
  }
  return tasks;
}

}  // namespace

void Runner::run(const Plan& plan, const RunSinks& sinks) const {
  std::mutex mutex;
  std::exception_ptr failure;  // the first one of any thread
  std::atomic<bool> failed{false};
  const auto stopped = [this, &sinks, &failed] {
    return failed.load(std::memory_order_relaxed) ||
           (stop != nullptr && stop->load(std::memory_order_relaxed)) ||
           (sinks.full != nullptr && sinks.full->load(std::memory_order_relaxed));
  };
  const auto take_invariance = [&](InvarianceOutcome outcome) {
    const std::lock_guard lock(mutex);
    sinks.invariance(std::move(outcome));
  };
  const auto report_late_crash = [&](const LateCrash& late) {
    const std::lock_guard lock(mutex);
    if (sinks.late) sinks.late(late);
  };
  const auto run_tasks = [&](const std::vector<Task>& tasks, int threads) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      Measurer measurer(options, providers, contracts);
      InvarianceMeasurer invariance_measurer(options, providers, contracts);
      const auto measure_invariances = [&](const PlannedCase& planned) {
        if (invariances.empty() || stopped()) return;
        invariance_measurer.measure(planned, invariances, take_invariance, report_late_crash);
      };
      for (std::size_t t = next++; t < tasks.size() && !stopped(); t = next++) {
        std::set<std::string> ran;
        const auto emit = [&](Measurement m) {
          const std::lock_guard lock(mutex);
          if (m.late && sinks.late) sinks.late(*m.late);
          if (m.outcome.status == Status::ok && m.outcome.reused_from.empty())
            ran.insert(m.outcome.case_id);
          sinks.outcome(std::move(m.outcome));
          if (tasks[t].diff == nullptr) sinks.progress();
        };
        if (tasks[t].diff == nullptr) {
          measurer.measure(tasks[t].cases, emit);
          for (const PlannedCase* planned : tasks[t].cases) {
            if (ran.contains(planned->case_id)) measure_invariances(*planned);
          }
          continue;
        }
        DiffOutcome diff = measurer.measure(*tasks[t].diff, emit);
        const std::lock_guard lock(mutex);
        sinks.diff(std::move(diff));
        sinks.progress();
      }
      if (stopped()) return;
      for (const LateCrash& late : measurer.finish()) report_late_crash(late);
    };
    const auto guarded = [&] {
      try {
        try {
          work();
        } catch (const std::bad_alloc&) {
          end_for_memory("plumbline has no memory for the results of the run");
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        failed = true;
      }
    };
    std::vector<std::thread> pool;
    try {
      for (int i = 1; i < threads; ++i) pool.emplace_back(guarded);
    } catch (const std::system_error&) {  // the threads that started do all the work
    }
    guarded();
    for (auto& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
  };
  const auto untimed = untimed_tasks(plan);
  run_tasks(untimed, std::clamp(jobs, 1, std::max(1, static_cast<int>(untimed.size()))));
  InvarianceMeasurer invariance_measurer(options, providers, contracts);
  run_timed(*this, plan, sinks, stopped, [&](const PlannedCase& planned) {
    if (invariances.empty() || stopped()) return;
    invariance_measurer.measure(planned, invariances, take_invariance, report_late_crash);
  });
}

Outcome Runner::run_fresh(const PlannedCase& planned) const {
  Outcome outcome;
  const auto take = [&](Outcome o) { outcome = std::move(o); };
  if (planned.timed) {
    Plan plan;
    plan.cases = {planned};
    run_timed(
        *this, plan, {take, [](DiffOutcome) {}, [] {}}, [] { return false; },
        [](const PlannedCase&) {});
  } else {
    Measurer(options, providers, contracts).measure({&planned}, [&](Measurement m) {
      take(std::move(m.outcome));
    });
  }
  return outcome;
}

std::vector<Outcome> Runner::time_fresh(const std::vector<const PlannedCase*>& cases,
                                        const FreshProgress& progress) const {
  Measurer measurer(options, providers, contracts);
  std::vector<Outcome> outcomes(cases.size());
  std::vector<bool> failed(cases.size(), false);
  std::size_t done = 0, known = 0;
  for (const PlannedCase* planned : cases)
    known += static_cast<std::size_t>(time_rounds_of(planned->c));
  const auto measure = [&](std::size_t i) {
    Outcome& outcome = outcomes[i];
    if (progress) progress(done, std::max(known, done + 1), *cases[i]);
    ++done;
    PlannedCase timed = *cases[i];
    timed.timed = true;
    RoundResult alone = measurer.measure_round(timed, pace->ns());
    outcome.status = alone.status;
    outcome.reason = alone.reason;
    failed[i] = alone.status != Status::ok;
    if (failed[i]) return;
    pace->add(alone.round);
    outcome.times.rounds.push_back(std::move(alone.round));
  };
  const auto wants_round = [&](std::size_t i, int round) {
    const int usual = time_rounds_of(cases[i]->c);
    if (failed[i] || round >= usual + options.extra_time_rounds) return false;
    return round < usual || !has_quiet_rounds(outcomes[i].times.rounds, usual, pace->ns());
  };
  bool any = true, stopped = false;
  for (int round = 0; any && !stopped; ++round) {
    any = false;
    for (std::size_t i = 0; i < cases.size() && !stopped; ++i) {
      if (!wants_round(i, round)) continue;
      any = true;
      stopped = stop != nullptr && *stop;
      if (!stopped) measure(i);
    }
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (stopped && !failed[i]) {
      outcomes[i].status = Status::error;
      outcomes[i].reason = "stopped";
    } else if (!failed[i]) {
      summarise_rounds(outcomes[i], pace->ns());
    }
  }
  return outcomes;
}

}  // namespace plumbline
