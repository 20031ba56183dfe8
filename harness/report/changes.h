// Renders what changed about the cases of a run since they were measured before.
#pragma once

#include <string>

#include "harness/judge/change.h"
#include "harness/report/tally.h"

namespace plumbline {

// "no longer measured", "now refused", …: what a reader is told of a kind of change.
std::string_view in_words(ChangeKind kind);

// One row a kind and sentence, at most `most` of them with the number of those left out in the
// last; no rows where nothing changed. What fails the run comes first.
TallyTable changes_table(const std::vector<RunChange>& changes, std::size_t most);

}  // namespace plumbline
