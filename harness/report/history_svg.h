// One case over runs as a picture.
#pragma once

#include <string>

#include "harness/report/case_history.h"

namespace plumbline {

// SVG 1.1, 960 units wide: a panel of the error (rms in units of sigma), one of the percentage of
// the limit, and where the case was timed one of the time (ratio to the sentinel) with its level
// between changes, its limit and the changes themselves. Each run is a point that says in its title
// (what a browser shows under the pointer) what was measured, when, in which run and of which
// commit; failures are crosses. Text that XML cannot hold becomes U+FFFD.
std::string render_history_svg(const CaseHistory& history);

}  // namespace plumbline
