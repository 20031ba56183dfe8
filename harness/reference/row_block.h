// The fp64 part: logits, softmax, O and LSE of a block of rows that share K and V.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/reference/head_data.h"
#include "harness/reference/model.h"

namespace plumbline {

// The row's Q as the products see it, [dim_qk]: rounded, and pre-scaled and rounded, where the model says so. Answers the scale by which
// q . k then becomes a logit in natural units.
double load_query(const Geometry& geometry, const InputView& inputs, const Model& model, const RowId& id, std::span<double> row);

// R rows by N keys, the union of what the rows see; key 0 of the block is row `first_key` of head->k. S and P have row stride `stride`;
// outside a row's visible keys S is -inf and P is 0. A block is reused for many computations, to keep its memory.
struct RowBlock {
  const HeadData* head = nullptr;
  std::int64_t rows = 0, first_key = 0, keys = 0, stride = 0;
  std::vector<KeyRange> visible;  // [R], relative to the block's key 0; never empty
  double scale = 1;               // s = scale * (q . k), natural-log units
  Buffer<double> q;               // [R, dim_qk], as the products see it: pre-scaled and rounded if the spec says so
  Buffer<double> s, p;            // [R, stride]
  Buffer<double> o;               // [R, dim_vo]
  std::vector<double> row_max;    // [R] m = max s
  std::vector<double> total;      // [R] l = sum exp(s - m)
  std::vector<double> lse;        // [R] m + ln l

  // `ids` lie in one (sample, key head) and all see at least one key.
  void compute(const Geometry& geometry, const InputView& inputs, const Model& model, const HeadData& head_data,
               std::span<const RowId> ids);

 private:
  void set_shape(const Geometry& geometry, const HeadData& head_data, std::span<const RowId> ids);
  void load_q(const Geometry& geometry, const InputView& inputs, const Model& model, std::span<const RowId> ids);
  void softmax(std::int64_t row);
};

}  // namespace plumbline
