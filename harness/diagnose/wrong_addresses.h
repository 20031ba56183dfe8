// Explanations of an error by wrong addresses of K and V and by misplaced softcaps.
#pragma once

#include "harness/diagnose/explanation_ranking.h"

namespace plumbline {

// Adds these explanations: V of a neighbouring key; pages of a paged cache that are exchanged,
// shifted or another sample's, for K, V or both; a softcap in the wrong place or without
// its division.
void add_wrong_addresses(const FailingOutput& failing, ExplanationRanking& ranking);

}  // namespace plumbline
