// A night: all runs of one night over all machines, with what happened to it. Stored append-only.
#pragma once

#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// How the times of one run stood together on one machine class, and what chance would have given.
struct NightTimes {
  MachineClass machine;
  int series = 0;           // with enough nights to be gated
  double common_shift = 0;  // relative, of all series together
  double shift_limit = 0;   // of the median deviation, in spreads
  bool suspect = false;     // no time of the run is a finding or a baseline
  std::string why;          // one sentence of a suspect night, or of cases set aside alone
  int fresh = 0;            // fresh processes that each candidate was asked in
  int candidates = 0, confirmed = 0;
  double expected_false_alerts = 0;  // by the rate of the simulated noise
  // Cases that were measured twice in the night, and how many of these second measurements would
  // have been candidates where the first was none.
  int second_pairs = 0, second_alarms = 0;
  double load = 0;  // the largest load average seen while timing
  bool operator==(const NightTimes&) const = default;
};

enum class NightEventKind { opened, closed, suspect, measured_again, set_aside };
struct NightEvent {
  std::string night_id;
  NightEventKind kind = NightEventKind::opened;
  std::string at;      // ISO 8601 UTC
  std::string who;     // a person, or the host
  std::string detail;  // a sentence; "" = there is nothing to say
  bool operator==(const NightEvent&) const = default;
};

// All that is stored of one night.
struct StoredNight {
  std::string night_id;
  std::vector<NightEvent> events;  // in their order
  std::vector<StoredRun> runs;     // in their order
};

}  // namespace plumbline
