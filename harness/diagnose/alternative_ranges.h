// Other keys that each query may have seen: lengths, masks and tiles of keys. Text for reports; no
// verdict depends on it.
#pragma once

#include "harness/diagnose/alternative_list.h"

namespace plumbline {

// Visit alternatives in which rows see other keys than the problem states.
// The first or the last key, or the tokens of this call, are missing or too many.
void visit_other_ends(AlternativeVisits& visits);
// Keys are missing or too many by tiles of keys or queries, in several sizes.
void visit_other_tiles(AlternativeVisits& visits);
// One key of each tile is missing, in several sizes. With few visible keys this equals one missing
// key, so it is the last explanation of all.
void visit_dropped_keys(AlternativeVisits& visits);

}  // namespace plumbline
