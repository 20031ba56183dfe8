// Joins databases of runs into one. Keys follow from content, so what several files share is stored
// once, and the order of files does not matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

struct MergedRun {
  RunInfo info;
  // against what `out` held before
  enum class State : std::uint8_t { added, replaced, kept } state = State::added;
};

struct MergeReport {
  std::vector<MergedRun> runs;       // of the shards, oldest first
  std::int64_t outcomes_before = 0;  // in `out`
  std::int64_t outcomes = 0;         // afterwards
};

// Adds to `out`, which is created if need be, what the shards hold and it lacks. Of two copies of
// one run the one that was finished last counts whole (judging again finishes it anew, a run that
// is not finished was never later); copies of one run that were finished at the same moment, or not
// at all, give each what the other lacks. Accepted baselines and resources are joined.
//
// Errors name the shard and leave `out` as it was: what Store::open refuses, damage that SQLite's
// quick_check finds in a shard, a shard that is `out` itself, and two copies of one run that
// contradict each other. Of `out` only what comes together with the shards is looked at, so that a
// night costs what a night holds, however long the history is. Shards are only read; they may be of
// older schemas, and in use.
Result<MergeReport> merge_databases(const std::filesystem::path& out,
                                    const std::vector<std::filesystem::path>& shards);

// The tables that are merged, for the test that none was forgotten.
std::vector<std::string> merged_tables();

}  // namespace plumbline
