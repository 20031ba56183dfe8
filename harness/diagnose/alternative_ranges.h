// Other keys that each query may have seen: lengths, masks and tiles of keys. Text for reports; no
// verdict depends on it.
#pragma once

#include "harness/diagnose/alternative_list.h"

namespace plumbline {

// Visits alternatives in which rows see one key more or less at an end, or lack the first key, the
// last key or the tokens of this call.
void visit_other_ends(AlternativeVisits& visits);
// Visits alternatives in which tiles of keys or queries, in several sizes, decide which keys are
// missing or too many.
void visit_other_tiles(AlternativeVisits& visits);
// Visits alternatives in which one key of each tile is missing, in several sizes of tiles. With few
// visible keys this equals one missing key, so these alternatives are tried last.
void visit_dropped_keys(AlternativeVisits& visits);

}  // namespace plumbline
