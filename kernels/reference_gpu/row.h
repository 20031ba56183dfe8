// Parameters of the reference kernels: device memory, and the request's numbers.
#pragma once

#include <cstdint>

#include "harness/reference/plumbline_reference.h"

namespace plumbline::reference_gpu {

// Threads of a block: four warps for columns, and one for the row as a whole.
inline constexpr int column_threads = 128;
inline constexpr int block_threads = column_threads + 32;

// Global memory per key of a row. Each block has room for `capacity` keys, a power of two for
// sorting.
struct Scratch {
  double* s;             // [blocks, capacity] logit
  double* p;             // [blocks, capacity] probability
  double* sd;            // [blocks, capacity] standard deviation of the logit's error
  std::uint64_t* label;  // [blocks, capacity] cell, sorted
  std::int32_t* order;   // [blocks, capacity] the key of each label
  std::int64_t capacity;
};

struct RowParameters {
  std::uint32_t dtype;
  std::int64_t dim_qk, dim_vo;
  double scale;
  const double* q;
  const void *k, *v;
  const std::int64_t *k_offsets, *v_offsets;
  const plumbline_reference_group* groups;
  const double* group_unit;  // [groups] a power of two near max |v|, from group_units()
  const plumbline_reference_row* rows;
  std::int64_t row_count;
  plumbline_reference_model model;
  Scratch scratch;
  double *o, *variance, *bound, *lse, *lse_variance;
  std::int32_t* repeats;
};

struct UnitParameters {
  std::uint32_t dtype;
  std::int64_t dim_vo;
  const void* v;
  const std::int64_t* v_offsets;
  const plumbline_reference_group* groups;
  double* group_unit;
};

// Returns the bytes of shared memory of reference_rows: Q, and one number for each warp.
inline std::int64_t row_shared_bytes(std::int64_t dim_qk) {
  return (dim_qk + block_threads / 32) * static_cast<std::int64_t>(sizeof(double));
}
inline constexpr std::int64_t unit_shared_bytes =
    block_threads / 32 * static_cast<std::int64_t>(sizeof(double));

}  // namespace plumbline::reference_gpu
