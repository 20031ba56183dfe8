// Compares two runs, nights or commits, case by case.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// A case as one side measured it.
struct ComparedSide {
  Verdict verdict = Verdict::pass;
  double rms = 0;                  // in units of sigma
  double time_ratio = 0;           // median over the side's runs; 0 = not timed
  double time_ns = 0;              // median over the side's runs; 0 = not timed
  std::string_view unjudged_time;  // why its newest time is not judged; "" if it is
  std::string output_digest, build_id;
  std::string machine;           // machine class in words
  std::string provider_options;  // options of the kernel's provider
};

struct ComparedCase {
  std::string suite, case_id;
  ComparedSide before, after;
  bool same_class = true;  // equal machine classes; times are compared only then
  double time_noise = 1;   // a larger ratio of times is a real change
  // Returns true if both sides have an output.
  bool measured() const { return !before.output_digest.empty() && !after.output_digest.empty(); }
  bool bits_equal() const { return measured() && before.output_digest == after.output_digest; }
  // Returns time after / time before, or 1 if the times cannot be compared.
  double time_change() const;
  bool is_slower() const { return time_change() > time_noise; }
  bool is_faster() const { return time_change() < 1 / time_noise; }
};

struct RunComparison {
  std::string before, after;                         // "run 3f2a01bc", "night 2027-01-30"
  std::vector<std::string> runs_before, runs_after;  // ids, oldest first
  std::vector<ComparedCase> cases;                   // those that both sides have
  std::size_t only_before = 0, only_after = 0;       // series that one side lacks
  // Cases of the earlier side that the later side lacks, although it measured their suites in full.
  std::size_t lost = 0;
  IncompleteRuns incomplete_before, incomplete_after;
  bool all = false;            // show unchanged cases also
  bool any_worse() const;      // a case fails now that did not fail before
  bool any_less_sure() const;  // a case that was fine is not fine now
  // Returns not_fine if any_worse(), open if any_less_sure(), if a side is incomplete or if cases
  // were lost, otherwise fine.
  RunState state() const;
};

// Returns tables of changed verdicts, of times that changed by more than noise, and of errors of
// outputs with other bits; then counts. Times and errors with the largest change come first.
std::string render_comparison(const RunComparison& comparison, const Style& style);
std::string json_of_comparison(const RunComparison& comparison);

}  // namespace plumbline
