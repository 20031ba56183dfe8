// Merges databases of runs. Keys follow from content, so a row that several files have is stored
// once, and the order of the files does not matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

struct MergedRun {
  RunInfo info;
  // compared with `out` before the merge
  enum class State : std::uint8_t { added, replaced, kept } state = State::added;
};

struct MergeReport {
  std::vector<MergedRun> runs;       // runs of the shards, oldest first
  std::int64_t outcomes_before = 0;  // in `out`
  std::int64_t outcomes = 0;         // in `out`, after the merge
};

// Adds the rows of the shards to `out`, which is created if missing. If two files hold the same
// run, the copy finished last replaces the other. Judging a run finishes it anew, and an unfinished
// copy counts as oldest. If both finish times are equal or absent, the copies are united.
// Decisions, events of nights and compiled resources are always united.
//
// Errors name the shard and leave `out` unchanged. They are those of Store::open, damage that
// SQLite's quick_check finds, a shard that is `out` itself, and two copies of a run that contradict
// each other. Except for counts and finish times, a merge reads only rows of `out` whose keys the
// shards have. So its cost grows with the new night, not with the history. Shards are only read.
// They may have older schemas and be in use.
Result<MergeReport> merge_databases(const std::filesystem::path& out,
                                    const std::vector<std::filesystem::path>& shards);

// Returns the names of the merged tables, so that a test can check that none is missing.
std::vector<std::string> merged_tables();

}  // namespace plumbline
