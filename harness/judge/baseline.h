// The past of a case: what its outcome is judged against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/terms.h"
#include "harness/problem/outputs.h"

namespace plumbline {

// The past of a case on the same machine class, at the same judge_version and reference_version;
// filled by the store.
struct Baseline {
  std::string run_id;
  std::string verdict;
  std::string output_digest;
  std::string build_id;
  double rms = 0;
  std::int64_t elements = 0;
  bool deterministic = false;  // promised and confirmed
  std::string run_order;       // of its run
  bool timed = false;
  std::string driver, runtime;  // of the GPU, as DeviceFacts has them
  std::string spec_judged;      // as in Outcome
  std::optional<Terms> terms;   // absent: an older plumbline judged it
  PerRowOutput<bool> judged{};  // the row outputs that it had
};
// Recent runs whose times are known and were not set aside, newest first, at most 60. A regression
// that was confirmed and not accepted is not among them.
struct TimeHistory {
  std::vector<double> ratios;                // time_ratio
  std::vector<std::string> run_orders = {};  // of each
  // ratios of the fresh processes that were asked then, of each; empty where none was
  std::vector<std::vector<double>> fresh = {};
  // another level is known to hold from then on: an improvement was confirmed, or somebody accepted
  // that the case is slower
  std::vector<bool> starts_level = {};
};
// Somebody has seen a regression of the case, and says why it stays for now. The outcome is no
// baseline.
struct Acknowledgement {
  std::string who, why;
  std::string until;      // "2027-01-30"; "" = without an end
  std::string run_order;  // of the run that was acknowledged
  double time_ratio = 0;  // of that run; 0 = not timed
  double rms = 0;         // likewise
  std::string output_digest;
};
// What somebody has said that the case is to be measured against.
struct Pin {
  Baseline outcome;
  TimeHistory times;  // up to the pinned run, that one first, at most 5
};
// Everything of the past that a case is judged by.
struct Past {
  std::optional<Baseline> baseline;
  TimeHistory times;
  std::optional<Pin> pin;
  std::optional<Acknowledgement> acknowledged;  // the newest since the baseline
  bool refusal_accepted = false;  // since the baseline somebody accepted that the kernel refuses it
};

}  // namespace plumbline
