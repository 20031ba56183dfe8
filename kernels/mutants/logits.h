// Computes the logits of the softmax from q.k: scales (the softmax scale and K's), softcap, ALiBi.
// Also adds the sink to a row's sum.
#pragma once

#include "kernels/mutants/arithmetic.h"
#include "kernels/mutants/block.h"

namespace plumbline::mutants {

class Logits {
 public:
  Logits(const Sequence& sequence, Change change);

  // scale * log2(e), because logits are in units of log2.
  float factor() const { return factor_; }

  // Replaces q.k in `s`, of tile_keys keys from keys.begin on, by logits. The caller multiplies
  // these by within_exponent(). Queries that were multiplied by factor() when loaded are not
  // multiplied again.
  void apply(const Block& block, std::int64_t row, Range keys, std::int64_t tile_keys,
             float* s) const;
  float within_exponent(const Block& block) const;
  // For softcap_after_maximum: `s` is S minus its maximum.
  void cap_below_maximum(float* s, std::int64_t count) const;

  // the value that softmax_finite_sentinel uses for -infinity
  float sentinel() const { return -5e4F * factor_; }
  float masked_logit() const;

  float sink(const Block& block) const;  // in units of log2; -infinity without sinks
  // Adds one more logit to a row: the sink, its weight multiplied by 2^share. `sum` is the sum of P
  // relative to `maximum`, `out` is the row's O.
  void add_sink(const Block& block, float share, float& maximum, float& sum, float* out,
                std::int64_t columns) const;

 private:
  bool is(Change change) const { return change_ == change; }
  bool is_capped() const;
  bool is_biased() const;
  float product_factor(const Block& block) const;
  void cap(float* s, std::int64_t count) const;
  float bias(const Block& block, std::int64_t row, Range keys, std::int64_t key) const;
  float slope(std::int64_t head) const;

  const Sequence& sequence_;
  const plumbline_problem& problem_;
  const Change change_;
  const double scale_;  // in natural units, with this change
  const double unit_;   // unit of apply()'s logits: 1 = natural, log2(e) = units of log2
  const float factor_;
};

}  // namespace plumbline::mutants
