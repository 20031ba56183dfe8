// A night: all runs with one night id on all machines, and its append-only events.
#pragma once

#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// The gated times of one run on one machine class, and the false alerts that chance would give.
struct NightTimes {
  MachineClass machine;
  int series = 0;           // series with enough nights to be gated
  double common_shift = 0;  // relative change that all series share
  double shift_limit = 0;   // limit for the median deviation, in spreads
  bool suspect = false;     // the times of the run are neither findings nor baselines
  std::string why;          // why the night is suspect or cases were excluded; one sentence
  int fresh = 0;            // fresh processes that measured each candidate again
  int candidates = 0, confirmed = 0;
  double expected_false_alerts = 0;  // computed from the simulated noise
  // Cases measured twice in the night, and how many second measurements would have been candidates
  // although the first was not.
  int second_pairs = 0, second_alarms = 0;
  double load = 0;  // largest load average during timing
  bool operator==(const NightTimes&) const = default;
};

enum class NightEventKind { opened, closed, suspect, measured_again, set_aside };
struct NightEvent {
  std::string night_id;
  NightEventKind kind = NightEventKind::opened;
  std::string at;      // ISO 8601 UTC
  std::string who;     // a user or a host
  std::string detail;  // a sentence, or ""
  bool operator==(const NightEvent&) const = default;
};

// Everything stored about one night.
struct StoredNight {
  std::string night_id;
  std::vector<NightEvent> events;  // by time
  std::vector<StoredRun> runs;     // by run_order
};

}  // namespace plumbline
