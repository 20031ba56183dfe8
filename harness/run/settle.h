// What two fresh processes make of an outcome that looked like a regression.
#pragma once

#include <array>

#include "harness/store/stored.h"

namespace plumbline {

// `again`: what two fresh processes gave, judged against the same past. If both fail, that is what
// the case is; if neither does, the first was noise, and the first of them takes its place, but for
// the time, which was taken among all others of its night; if they differ, it is ambiguous.
void settle(StoredOutcome& stored, std::array<StoredOutcome, 2> again);

}  // namespace plumbline
