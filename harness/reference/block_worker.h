// One thread's buffers, and the way from rows to a finished block. Private to harness/reference.
#pragma once

#include <span>

#include "harness/reference/scales.h"
#include "harness/reference/suite_scores.h"

namespace plumbline {

struct BlockWorker {
  explicit BlockWorker(const Model& model) : scales(model) {}
  RowBlock block;
  BlockScales scales;
  SuiteScores scores;
  Buffer<double> sigma_squared;  // [R, dim_vo]
};

// Keys of the rows' own sample that any of them sees.
KeyRange visible_union(const Geometry& geometry, std::span<const RowId> rows);
// The block of one row with visible keys, with its own gathered K and V. `head` must outlive the block's use.
void compute_single_row(const Question& question, RowId row, HeadData& head, RowBlock& block);
// ulp of the output at o. A hair above |o|: where o is a power of two, noise of fp64 must not halve it.
inline double output_unit(double o, DType out) { return ulp(o * (1 + 1e-12), out); }
// OpenBLAS runs inside oneTBB tasks and must not start threads of its own.
void use_one_blas_thread();

}  // namespace plumbline
