// Renders how the cases of a run changed since an earlier run.
#pragma once

#include <string>

#include "harness/judge/change.h"
#include "harness/report/tally.h"

namespace plumbline {

// Returns a kind of change as reports print it: "vanished", "now refused", ….
std::string_view in_words(ChangeKind kind);

// Returns one row per change, those that need attention first. After `most` rows a last one counts
// the rest. There are no rows if nothing changed.
TallyTable changes_table(const std::vector<RunChange>& changes, std::size_t most);

}  // namespace plumbline
