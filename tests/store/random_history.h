// Random histories: runs of several machines, suites, options and verdicts, in random order of
// time.
#pragma once

#include <fmt/format.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {

class RandomHistory {
 public:
  explicit RandomHistory(unsigned seed) : random_(seed) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  StoredOutcome outcome(int gpu) {
    static const std::vector<Verdict> verdicts{
        Verdict::pass,       Verdict::pass,    Verdict::pass, Verdict::first_seen,
        Verdict::first_seen, Verdict::changed, Verdict::fail, Verdict::regressed,
        Verdict::ambiguous,  Verdict::improved};
    StoredOutcome stored = passing(fmt::format("bf16/b1-h4-s{}-d64", 64 * (1 + below(3))),
                                   gpu < 0 ? "cpu/flash" : "cuda/flash");
    Outcome& o = stored.outcome;
    if (gpu >= 0) {
      o.c.device = fmt::format("cuda:{}", gpu);
      o.case_id = case_id(o.c);
    }
    stored.judgement.verdict = verdicts[static_cast<std::size_t>(below(10))];
    if (below(8) == 0) {
      stored = not_run(Status::crashed, Verdict::crashed, "signal 11", "bf16/b1-h4-s64-d64");
    }
    o.suite = below(3) == 0 ? "pr" : "smoke";
    if (below(4) == 0) o.provider_options = "tile=8";
    if (below(3) == 0) o.timed = false;
    o.time_ratio = 1 + 0.01 * below(100);
    o.errors.rms = 0.5 + 0.01 * below(100);
    o.output_digest = fmt::format("{:032d}", below(4));
    return stored;
  }

  // Adds run `number` with about six outcomes unless it exists. Some runs stay unfinished, some are
  // accepted.
  void add_run(Store& store, int number, bool may_stay_unfinished = true) {
    if (!numbers_.insert(number).second) return;
    RunInfo run = run_info(number, below(3) == 0 ? "Xeon" : "EPYC");
    if (below(2) == 0) run.night_id = fmt::format("night {}", number / 3);
    value_of(store.begin_run(run));
    const int gpu = below(3) - 1;  // the same device for all outcomes of a run
    for (int i = 0; i < 6; ++i) value_of(store.add(run.run_id, outcome(gpu)));
    value_of(store.flush());
    if (may_stay_unfinished && below(6) == 0) return;
    value_of(store.finish_run(run.run_id, 0, below(5) > 0));
    if (below(5) == 0) {
      const auto accepted = store.accept(run.run_id, "*s64*", "Ada", "random");
      static_cast<void>(accepted);  // may be an error: perhaps no case matches
    }
    if (below(6) == 0) {
      const auto pinned = store.pin(run.run_id, "*s128*", "Ada", "random");
      static_cast<void>(pinned);
    }
  }

 private:
  std::mt19937 random_;
  std::set<int> numbers_;
};

}  // namespace plumbline
