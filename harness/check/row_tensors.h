// The row outputs of a dump, such as its LSE, whichever of their dimensions comes first.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/check/dump.h"
#include "harness/check/tensor_set.h"
#include "harness/problem/problem.h"

namespace plumbline {

// Fills the dump's row outputs from the tensors of their names that are there: fp32 [batch, seq_q,
// heads] (padded; rows = seq_q) or [rows, heads] (rows = total_q). What is stored with the heads
// first is turned; where both orders fit, `heads_first` has to say which. False with an error added
// where a tensor fits neither.
bool read_row_outputs(const Problem& problem, std::int64_t rows, std::optional<bool> heads_first,
                      TensorSet& tensors, Dump& dump);

}  // namespace plumbline
