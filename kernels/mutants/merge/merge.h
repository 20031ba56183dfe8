// A merge of states in plain loops, with one change.
#pragma once

#include "kernels/cpu/sequences.h"
#include "kernels/mutants/merge/changes.h"

namespace plumbline::merge_mutants {

void run(const cpu::Attention& states, Change change);

}  // namespace plumbline::merge_mutants
