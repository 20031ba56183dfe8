// What q.k goes through before the softmax: scales, softcap, ALiBi, and the sink's share. The
// scales are the softmax scale and K's; the sink adds to a row's sum.
#pragma once

#include "kernels/mutants/arithmetic.h"
#include "kernels/mutants/block.h"

namespace plumbline::mutants {

class Logits {
 public:
  Logits(const Sequence& sequence, Change change);

  // scale * log2(e): logits are kept in powers of two.
  float factor() const { return factor_; }

  // `s` holds q.k of keys first_key, …, then logits that are still to be multiplied by
  // `within_exponent`. A query that was multiplied by factor() when it was loaded is not multiplied
  // again.
  void apply(const Block& block, std::int64_t row, Range keys, std::int64_t tile_keys,
             float* s) const;
  float within_exponent(const Block& block) const;
  // softcap_after_maximum: `s` is S less its maximum.
  void cap_below_maximum(float* s, std::int64_t count) const;

  // what softmax_finite_sentinel has for -infinity
  float sentinel() const { return -5e4F * factor_; }
  float of_masked_key() const;

  float sink(const Block& block) const;  // in powers of two; -infinity without
  // The sink, 2^share of it, as one more logit of a row: `sum` is that of P below `maximum`, `out`
  // its O.
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
  const double scale_;  // natural, as this change has it
  const double unit_;   // of what apply() leaves: 1 natural, log2(e) powers of two
  const float factor_;
};

}  // namespace plumbline::mutants
