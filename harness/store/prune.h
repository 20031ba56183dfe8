// Deletes outcomes of old nights, except those that later nights, decisions or reports need.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

// Why an outcome of an older night is kept. The first reason that applies counts.
enum class KeptFor : std::uint8_t {
  failure,        // its verdict fails a run
  accepted,       // a user accepted or acknowledged it
  pinned,         // later runs are compared with it
  before_a_pin,   // in the 14 nights before a pin, for its level and noise
  change,         // next to a change of bits, verdict or version of the judge, reference or inputs
  end_of_series,  // the first or newest of its series
  level,          // next to a change of the series' time (harness/timing)
  complete_run,   // in the newest complete run of its kind, which defines the expected cases
};
inline constexpr std::size_t reasons_to_keep = 8;
std::string_view words(KeptFor reason);

struct PruneOptions {
  int nights = 60;  // newest nights kept whole, at least 1; the gate uses 60
  bool dry_run = false;
  bool vacuum = false;  // return free space to the file system; rewrites the file
};

struct PruneReport {
  int nights_before = 0, nights_whole = 0;
  std::string since;  // the oldest night kept whole: its id, or its day
  std::int64_t outcomes_before = 0, outcomes_deleted = 0;
  std::array<std::int64_t, reasons_to_keep> kept{};  // outcomes of older nights, by KeptFor
  std::int64_t other_rows_deleted = 0;  // diffs, invariances, statistics, … of older nights
  std::int64_t runs_before = 0, runs_deleted = 0;
  std::int64_t bytes_before = 0, bytes = 0;  // file size, with its log
};

// Prunes a database. A night is the runs of one night id, or of one day for runs without one. Older
// nights also keep diffs, invariances, statistics and changes that fail, suspect times, compiled
// resources that are not a plain pass, all decisions, and every run with a remaining row.
// Baselines, the past of pins and the acceptance of outcomes do not change.
//
// Uses one transaction, so an error or a crash leaves the file unchanged. Returns an error if the
// file cannot be opened for writing, is not a database of runs, or stays locked for 20 s.
Result<PruneReport> prune_database(const std::filesystem::path& path, const PruneOptions& options);

}  // namespace plumbline
