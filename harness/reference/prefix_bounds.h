// Bounds of the prefix sums of p_k v_kj in key order. Finding them adds a few percent to the time
// of the product O = P V.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/reference/head_data.h"

namespace plumbline {

// The chunks (head_data.h) that contain the `keys` keys of a head from `first_key` on. The first
// and the last chunk may be partial.
class KeyChunks {
 public:
  KeyChunks() = default;
  KeyChunks(std::int64_t first_key, std::int64_t keys)
      : first_key_(first_key), keys_(keys), first_chunk_(first_key / chunk_keys) {}
  std::int64_t count() const {
    return (first_key_ + keys_ + chunk_keys - 1) / chunk_keys - first_chunk_;
  }
  // Returns the keys of chunk c, relative to `first_key`.
  KeyRange keys_of(std::int64_t c) const {
    const std::int64_t begin = (first_chunk_ + c) * chunk_keys - first_key_;
    return {std::max<std::int64_t>(begin, 0), std::min(begin + chunk_keys, keys_)};
  }
  // Returns the number of the first chunk in the head.
  std::int64_t first() const { return first_chunk_; }

 private:
  std::int64_t first_key_ = 0, keys_ = 0, first_chunk_ = 0;
};

// The sums are known at the edges of chunks of keys. Between two edges a sum exceeds the larger of
// the two edge sums by at most half of the chunk's sum of p |v_j|. By Cauchy-Schwarz, this is at
// most half the product of the chunk's 2-norms of p and v_j.
class PrefixBounds {
 public:
  // Call start() for R rows whose key 0 is `first_key` of the head, then start_row() with each
  // row's P, which is 0 for keys it does not see.
  void start(const HeadData& head, std::int64_t rows, std::int64_t first_key, std::int64_t keys);
  void start_row(std::int64_t row, const double* p);
  // Adds o [R, dim_vo], the sums up to the end of chunk c.
  void add_edge(std::int64_t c, const double* o);

  // The max - min of a row's prefix sums, zero included, in v_unit: at most range(), at least
  // edge_range().
  float range(std::int64_t row, std::int64_t column) const {
    return high_.data()[row * head_->ld + column] - low_.data()[row * head_->ld + column];
  }
  float edge_range(std::int64_t row, std::int64_t column) const {
    return edge_high_.data()[row * head_->ld + column] - edge_low_.data()[row * head_->ld + column];
  }

 private:
  void extend(std::int64_t row, std::int64_t edge, const double* o);

  const HeadData* head_ = nullptr;
  std::int64_t rows_ = 0;
  KeyChunks chunks_;
  // [R, chunks + 1] at each edge: the larger 2-norm of P in the chunks beside it
  Buffer<float> norms_;
  std::vector<double> zeros_;                        // [dim_vo]
  Buffer<float> high_, low_, edge_high_, edge_low_;  // [R, ld]
};

}  // namespace plumbline
