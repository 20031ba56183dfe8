// Explanations of an error that lie in where K and V are read and where the softcap is applied.
#pragma once

#include "harness/diagnose/contest.h"

namespace plumbline {

// V of a neighbouring key; pages of a paged cache that are exchanged, shifted or another sample's,
// for K, V or both; a softcap that holds the ALiBi bias, too, or divides nothing.
void add_other_places(const FailingOutput& failing, Contest& contest);

}  // namespace plumbline
