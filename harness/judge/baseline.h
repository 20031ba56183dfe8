// The past of a case, with which its outcome is compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/contract_snapshot.h"
#include "harness/problem/outputs.h"

namespace plumbline {

// A past outcome of a case on the same machine class, with the same judge_version and
// reference_version. The store fills it in.
struct Baseline {
  std::string run_id;
  std::string verdict;
  std::string output_digest;
  std::string build_id;
  double rms = 0;
  std::int64_t elements = 0;
  bool deterministic = false;  // promised, and confirmed by a repeated call
  std::string run_order;       // sort key of its run
  bool timed = false;
  std::string driver, runtime;            // as in DeviceFacts
  std::string spec_judged;                // as in Outcome
  std::optional<ContractSnapshot> terms;  // absent: judged by an older plumbline
  PerRowOutput<bool> judged{};            // true for each row output that was compared
};
// Times of recent runs, newest first, at most 60. Runs without a known time, excluded times, and
// confirmed regressions that no user accepted are left out.
struct TimeHistory {
  std::vector<double> ratios;                // time_ratio of each run
  std::vector<std::string> run_orders = {};  // sort key of each run
  // ratios that fresh processes measured for each run; empty if there were none
  std::vector<std::vector<double>> fresh = {};
  // true if the level changed at this run: a confirmed improvement, or an accepted failure
  std::vector<bool> starts_level = {};
};
// A known regression of the case, and why a user lets it pass for now. The acknowledged outcome is
// never a baseline.
struct Acknowledgement {
  std::string who, why;
  std::string until;      // "2027-01-30"; "" = no end
  std::string run_order;  // sort key of the acknowledged run
  double time_ratio = 0;  // in that run; 0 = not timed
  double rms = 0;         // in that run
  std::string output_digest;
};
// An outcome that a user pinned. Later outcomes are also compared with it.
struct Pin {
  Baseline outcome;
  TimeHistory times;  // the pinned run first, then earlier ones; at most 5
};
// A case's past, as far as the verdict depends on it.
struct Past {
  std::optional<Baseline> baseline;
  TimeHistory times;
  std::optional<Pin> pin;
  std::optional<Acknowledgement> acknowledged;  // the newest since the baseline
  // true if a user accepted the kernel's refusal of the case after the baseline
  bool refusal_accepted = false;
};

}  // namespace plumbline
