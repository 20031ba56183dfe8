// Explanations of an error by the way in which the results of splits are kept and merged.
#pragma once

#include "harness/diagnose/explanation_ranking.h"

namespace plumbline {

// Adds these explanations, for splits of several sizes from key 0 on: partial outputs or partial
// LSEs of 16 bits, splits of equal weight, and weights of another base.
void add_split_results(const FailingOutput& failing, ExplanationRanking& ranking);

}  // namespace plumbline
