// The row outputs of a dump, such as its LSE, in either order of heads and rows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/check/dump.h"
#include "harness/check/tensor_set.h"
#include "harness/problem/problem.h"

namespace plumbline {

// Fills the dump's row outputs from the tensors with their names: fp32 [batch, seq_q, heads]
// (padded; rows = seq_q) or [rows, heads] (rows = total_q). Tensors with the heads first are
// transposed. If both orders fit, `heads_first` must be stated. If a tensor fits neither, adds an
// error and returns false.
bool read_row_outputs(const Problem& problem, std::int64_t rows, std::optional<bool> heads_first,
                      TensorSet& tensors, Dump& dump);

}  // namespace plumbline
