// The fp64 part: logits, softmax, O and LSE of a block of rows that share K and V.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/reference/head_data.h"
#include "harness/reference/prefix_bounds.h"

namespace plumbline {

// The row's Q as the products see it, [dim_qk]: rounded, and pre-scaled and rounded, where the
// model says so. Answers the scale by which q . k then becomes a logit in natural units.
double load_query(const Geometry& geometry, const InputView& inputs, const Model& model,
                  const RowId& id, std::span<double> row);

// An attention sink, beside the keys of one row: a logit whose v is 0.
struct Sink {
  double s = 0;           // natural units
  double p = 0;           // its weight; those of the keys sum to 1 - p
  double lse_keys = 0;    // LSE of the row without it
  double keys_total = 0;  // l without it, in units of exp(m)
};

// R rows by N keys, the union of what the rows see; key 0 of the block is row `first_key` of
// head->k. S and P have row stride `stride`; outside a row's range of keys S is -inf and P is 0. A
// hidden key inside the range has P = 0 and a finite S, so that P times anything of it is 0. A
// block is reused for many computations, to keep its memory.
struct RowBlock {
  const HeadData* head = nullptr;
  std::int64_t rows = 0, first_key = 0, keys = 0, stride = 0;
  std::vector<KeyRange> visible;  // [R], relative to the block's key 0; never empty
  double scale = 1;               // s = scale * (q . k), natural-log units
  Buffer<double>
      q;  // [R, dim_qk], as the products see it: pre-scaled and rounded if the spec says so
  Buffer<double> s, p;          // [R, stride]
  Buffer<double> o;             // [R, dim_vo]
  PrefixBounds prefixes;        // of o's sums
  std::vector<double> row_max;  // [R] m = max s, over the sink, too
  std::vector<double> total;    // [R] l = sum exp(s - m), likewise
  std::vector<double> lse;      // [R] m + ln l; without the sink, where the spec's LSE excludes it

  // Features; empty where the problem has none.
  std::vector<Sink> sinks;         // [R]
  std::vector<LogitShape> shapes;  // [R] keys counted from the block's key 0
  Buffer<double> x, slope,
      capped;  // [R, stride] scale * (q . k), d s / d x, c tanh(x / c): where there are shapes
  // [R] the visible keys, where others lie between them
  std::vector<std::vector<std::int32_t>> seen;
  KeyRange keys_of(std::int64_t row) const { return visible[static_cast<std::size_t>(row)]; }
  std::int64_t count(std::int64_t row) const {  // visible keys
    const auto r = static_cast<std::size_t>(row);
    return seen.empty() ? visible[r].size() : static_cast<std::int64_t>(seen[r].size());
  }

  // Neither features nor hidden keys.
  bool is_plain() const { return sinks.empty() && shapes.empty() && seen.empty(); }

  // `ids` lie in one (sample, key head) and all see at least one key. compute() is start(),
  // softmax() of every row and finish(): logits to be, then S, P and LSE, then O.
  void compute(const Question& question, const HeadData& head_data, std::span<const RowId> ids);
  void start(const Question& question, const HeadData& head_data, std::span<const RowId> ids);
  void softmax(std::int64_t row, const Model& model);
  void finish();

 private:
  void set_shape(const Geometry& geometry, const HeadData& head_data, std::span<const RowId> ids);
  void set_features(const Question& question, std::span<const RowId> ids);
  void load_q(const Question& question, std::span<const RowId> ids);
  void shape_logits(std::int64_t row);
  void hide(std::int64_t row, double logit);
  void add_sink(std::int64_t row, double keys_max, double keys_sum, const Model& model);
};

}  // namespace plumbline
