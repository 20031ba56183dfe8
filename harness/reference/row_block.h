// The fp64 part of the reference: logits, softmax, O and LSE of a block of rows that share K and V.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "harness/reference/head_data.h"
#include "harness/reference/prefix_bounds.h"

namespace plumbline {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// An element of a pre-scaled Q whose fp32 product lies so near a tie that a kernel may round it to
// the other neighbour. `step` is the distance between the two neighbours.
struct QueryTie {
  std::int64_t dim = 0;
  double step = 0;
};
// Loads the row's Q as the products see it, [dim_qk]: rounded, and pre-scaled if the model requires
// it. Returns the scale by which q . k becomes a logit in natural units.
double load_query(const Geometry& geometry, const InputView& inputs, const Model& model,
                  const RowId& id, std::span<double> row, std::vector<QueryTie>* ties = nullptr);

// The attention sink of one row: a logit whose v is 0. Specs that round S before the bias or the
// softcap do not round the sink.
struct Sink {
  double s = 0;           // natural units
  double p = 0;           // its weight; the weights of the keys sum to 1 - p
  double lse_keys = 0;    // LSE of the row without it
  double keys_total = 0;  // l without it, in units of exp(m)
};

// Sets p[i] = exp(s[i] - m) for i < count, a multiple of 4. Returns the sum. `p` may be `s`.
double exp_and_sum(const double* s, double m, double* p, std::int64_t count);

// Returns a sink's logit as a kernel that rounds S holds it.
double held_sink(const Model& model, const Sink& sink);

// A row with at least this many visible keys and a finite V is long. In long rows, bounds may
// replace the worst case and the sizes of the products q_d k_d. Bounds of R_j may move spre by
// 0.5 % instead of 2.5e-5, and suite scores may multiply in bf16.
inline constexpr std::int64_t long_row = 1024;

// R rows and N keys: the smallest range that contains all keys that the rows see. Key 0 of the
// block is row `first_key` of head->k. S and P have row stride `stride`. Outside a row's range of
// keys S is -inf and P is 0. A hidden key inside the range has P = 0 and a finite S, so that P
// times any function of S is 0. Reuse a block for many computations to keep its memory.
struct RowBlock {
  const HeadData* head = nullptr;
  std::int64_t rows = 0, first_key = 0, keys = 0, stride = 0;
  std::vector<KeyRange> visible;  // [R], relative to the block's key 0; never empty
  bool shares_bias = false;       // shares_alibi_bias() of the problem
  double scale = 1;               // s = scale * (q . k), natural-log units
  // [R, dim_qk], as the products see it: pre-scaled and rounded if the spec requires it
  Buffer<double> q;
  std::vector<std::vector<QueryTie>> ties;  // [R]
  Buffer<double> s, p;                      // [R, stride]
  Buffer<double> o;                         // [R, dim_vo]
  PrefixBounds prefixes;                    // bounds of O's prefix sums
  std::vector<double> row_max;              // [R] m = max s, including the sink
  std::vector<double> total;                // [R] l = sum exp(s - m), including the sink
  std::vector<double> lse;  // [R] m + ln l; without the sink if the spec's LSE excludes it

  // Features; empty if the problem has none.
  std::vector<Sink> sinks;         // [R]
  std::vector<LogitShape> shapes;  // [R] keys counted from the block's key 0
  // [R, stride] scale * (q . k), d s / d x, c tanh(x / c); empty without shapes
  Buffer<double> x, slope, capped;
  // If the spec rounds S: the number that is rounded (s, c or x) and the logit after the rounding,
  // [R, stride]; the largest such logit of keys and sink, [R].
  Buffer<double> unrounded, held;
  std::vector<double> held_max;

  // [R] the visible keys; empty if no row can have hidden keys between them
  std::vector<std::vector<std::int32_t>> seen;

  const double* s_of(std::int64_t row) const { return s.data() + row * stride; }
  const double* p_of(std::int64_t row) const { return p.data() + row * stride; }
  // Returns O in units of v_unit.
  double o_of(std::int64_t row, std::int64_t column) const {
    return o.data()[row * head->dim_vo + column] / head->v_unit;
  }
  const Sink* sink(std::int64_t row) const { return sinks.empty() ? nullptr : sinks.data() + row; }
  // Returns the sink's index in rows with one weight per key: after the keys, or -1 without a sink.
  std::int64_t sink_key() const { return sinks.empty() ? -1 : stride; }
  KeyRange keys_of(std::int64_t row) const { return visible[static_cast<std::size_t>(row)]; }
  std::int64_t count(std::int64_t row) const {  // visible keys
    const auto r = static_cast<std::size_t>(row);
    return seen.empty() ? visible[r].size() : static_cast<std::int64_t>(seen[r].size());
  }

  // Returns d s / d log scale of element `at` of S: the logit, or slope * x if there are shapes,
  // because no scale multiplies ALiBi.
  double by_log_scale(std::int64_t at) const {
    return shapes.empty() ? s.data()[at] : slope.data()[at] * x.data()[at];
  }
  // Returns by how much an LSE of this spec exceeds the row's `lse`.
  double row_bias(const Model& model, std::int64_t row) const {
    return model.lse_without_row_bias && shares_bias && !shapes.empty()
               ? shapes[static_cast<std::size_t>(row)].bias_of_row(first_key + head->first_key)
               : 0;
  }
  double slope_of(std::int64_t row, std::int64_t key) const {
    return shapes.empty() ? 1 : slope.data()[row * stride + key];
  }
  // Returns by how much logit `key` of a row changes if the tie is rounded the other way.
  double shift_by(const QueryTie& tie, std::int64_t row, std::int64_t key) const {
    const double of_product =
        scale * tie.step *
        head->k[static_cast<std::size_t>((first_key + key) * head->dim_qk + tie.dim)];
    return slope_of(row, key) * of_product;
  }
  // Returns |d s / d ln y|, with y the number that the spec rounds: s, c or x.
  double rounded_size(const Model& model, std::int64_t row, std::int64_t key) const {
    const std::int64_t at = row * stride + key;
    const double y = std::abs(unrounded.data()[at]);
    return model.s_place == Model::PlaceOfS::before_softcap && !shapes.empty()
               ? slope.data()[at] * y
               : y;
  }
  const double* held_of(std::int64_t row) const { return held.data() + row * stride; }
  double cap() const { return shapes.empty() ? 0 : shapes.front().cap; }
  bool is_long(std::int64_t row) const { return count(row) >= long_row && head->finite; }
  // Calls visit(k) for each visible key of the row, in key order.
  template <class Visit>
  void for_seen(std::int64_t row, Visit visit) const {
    const auto [begin, end] = keys_of(row);
    if (seen.empty()) {
      for (std::int64_t k = begin; k < end; ++k) visit(k);
    } else {
      for (const std::int32_t k : seen[static_cast<std::size_t>(row)]) visit(std::int64_t{k});
    }
  }

  // Returns true if a kernel may skip the key: exp(s - m) is below the spec's threshold.
  bool may_be_skipped(const Model& model, std::int64_t row, std::int64_t key) const {
    return s.data()[row * stride + key] < row_max.data()[row] + model.skipped_logit;
  }
  // Calls visit(k) for each visible key that a kernel may skip.
  template <class Visit>
  void for_skipped(const Model& model, std::int64_t row, Visit visit) const {
    for_seen(row, [&](std::int64_t k) {
      if (may_be_skipped(model, row, k)) visit(k);
    });
  }

  // Calls visit(k) for each hidden key within the row's range.
  template <class Visit>
  void for_hidden(std::int64_t row, Visit visit) const {
    if (seen.empty()) return;
    std::int64_t next = keys_of(row).begin;
    for_seen(row, [&](std::int64_t k) {
      for (; next < k; ++next) visit(next);
      ++next;
    });
    for (; next < keys_of(row).end; ++next) visit(next);
  }

  // Returns true if there are neither features nor hidden keys.
  bool is_plain() const { return sinks.empty() && shapes.empty() && seen.empty(); }

  // `ids` are in one (sample, key head), and each sees at least one key. compute() calls start(),
  // softmax() for every row and finish(), which compute x = scale * (q . k), then S, P and LSE,
  // then O.
  void compute(const ReferenceContext& question, const HeadData& head_data,
               std::span<const RowId> ids);
  void start(const ReferenceContext& question, const HeadData& head_data,
             std::span<const RowId> ids);
  void softmax(std::int64_t row, const Model& model);
  void finish();

 private:
  void set_shape(const Geometry& geometry, const HeadData& head_data, std::span<const RowId> ids);
  void set_features(const ReferenceContext& question, std::span<const RowId> ids);
  void load_q(const ReferenceContext& question, std::span<const RowId> ids);
  void shape_logits(std::int64_t row);
  void hide(std::int64_t row, double logit);
  void add_sink(std::int64_t row, double keys_max, double keys_sum, const Model& model);
  void round_logits(std::int64_t row, const Model& model);
};

}  // namespace plumbline
