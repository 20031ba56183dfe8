// Other keys that each query may have seen: lengths, masks and tiles of keys. Text for reports; no
// verdict depends on it.
#pragma once

#include "harness/diagnose/alternative_problems.h"

namespace plumbline {

// Visits alternatives in which rows see other keys than the problem states, as
// visit_alternatives().
void visit_alternative_ranges(const FailingOutput& failing, const VisitAlternative& visit);

}  // namespace plumbline
