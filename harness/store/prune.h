// Deletes the outcomes of old nights, except those that later nights, people or questions need.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

// Why an outcome of an older night is kept: the first of these that holds.
enum class KeptFor : std::uint8_t {
  failure,       // its verdict fails a run
  accepted,      // somebody accepted or acknowledged it
  pinned,        // later runs are measured against it
  before_a_pin,  // of the 14 nights before a pinned one: the pinned level and its noise
  change,        // the nights on both sides of other bits, another verdict or another judge_version
  end_of_series,  // the first or the newest of its series
  level,          // the nights on both sides of a change of the series' time (harness/timing)
  complete_run,   // of the newest complete run of its kind, which says what later runs should hold
};
inline constexpr std::size_t reasons_to_keep = 8;
std::string_view words(KeptFor reason);

struct PruneOptions {
  int nights = 60;  // that stay whole: what the gate of times looks at; at least 1
  bool dry_run = false;
  bool vacuum = false;  // gives the space back to the file system, which rewrites the file
};

struct PruneReport {
  int nights_before = 0, nights_whole = 0;
  std::string since;  // the first night that stays whole: its id or, without one, its day
  std::int64_t outcomes_before = 0, outcomes_deleted = 0;
  std::array<std::int64_t, reasons_to_keep> kept{};  // outcomes of older nights, by KeptFor
  std::int64_t other_rows_deleted = 0;  // diffs, invariances, statistics, … of older nights
  std::int64_t runs_before = 0, runs_deleted = 0;
  std::int64_t bytes_before = 0, bytes = 0;  // of the file, its log included
};

// A night is the runs of one night id, or of one day where a run has none. Of older nights diffs,
// invariances and what was different stay where they fail, compiled resources where they are no
// plain pass; what people said stays, and so does every run of which a row is left. A baseline, the
// past of a pin and whether an outcome is accepted are afterwards what they were.
//
// One transaction: whatever fails or interrupts it leaves the file as it was. An error where the
// file cannot be opened for writing, is no database of runs, or is written by others for 20 s.
Result<PruneReport> prune_database(const std::filesystem::path& path, const PruneOptions& options);

}  // namespace plumbline
