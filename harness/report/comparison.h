// Two runs, nights or commits, case by case.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// What one side measured of a case.
struct ComparedSide {
  Verdict verdict = Verdict::pass;
  double rms = 0;                  // of the error, in units of sigma
  double time_ratio = 0;           // to the sentinel, median over the side's runs; 0 = not timed
  double time_ns = 0;              // likewise
  std::string_view unjudged_time;  // why its newest time is not judged, "" if it is
  std::string output_digest, build_id;
  std::string machine;           // its class in words
  std::string provider_options;  // of the kernel's provider
};

struct ComparedCase {
  std::string suite, case_id;
  ComparedSide before, after;
  bool same_class = true;  // of machines: only then are times compared
  double time_noise = 1;   // a ratio of times beyond which the change is no noise
  // Both sides have an output, and whether it is the same.
  bool measured() const { return !before.output_digest.empty() && !after.output_digest.empty(); }
  bool bits_equal() const { return measured() && before.output_digest == after.output_digest; }
  // After over before; 1 where they cannot be compared.
  double time_change() const;
  bool is_slower() const { return time_change() > time_noise; }
  bool is_faster() const { return time_change() < 1 / time_noise; }
};

struct RunComparison {
  std::string before, after;                         // "run 3f2a01bc", "night 2027-01-30"
  std::vector<std::string> runs_before, runs_after;  // ids, the oldest first
  std::vector<ComparedCase> cases;                   // in both
  std::size_t only_before = 0, only_after = 0;       // series of one side
  // Cases of the earlier side that the later one was to measure, too, and has no outcome of.
  std::size_t lost = 0;
  IncompleteRuns incomplete_before, incomplete_after;
  bool all = false;            // shows also cases that did not change
  bool any_worse() const;      // a case that did not fail fails now
  bool any_less_sure() const;  // a case that was fine is open or unmeasured now
  // not_fine if a case got worse, open if a side is incomplete or cases were lost, else fine.
  RunState state() const;
};

// Verdicts that changed, times that changed by more than noise, errors whose bits changed, the
// largest change first, and how many.
std::string render_comparison(const RunComparison& comparison, const Style& style);
std::string json_of_comparison(const RunComparison& comparison);

}  // namespace plumbline
