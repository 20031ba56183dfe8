// Bounds of the prefix sums of p_k v_kj in key order. Finding them adds a few percent to the time
// of the product O = P V.
#pragma once

#include "harness/reference/head_data.h"

namespace plumbline {

// The sums are known at the edges of chunks of keys. Between two edges a sum exceeds the larger of
// the two edge sums by at most half of the chunk's sum of p |v_j|. By Cauchy-Schwarz, this is at
// most half the product of the chunk's 2-norms of p and v_j.
class PrefixBounds {
 public:
  // Call start() for R rows whose key 0 is `first_key` of the head, then start_row() with each
  // row's P, which is 0 for keys it does not see.
  void start(const HeadData& head, std::int64_t rows, std::int64_t first_key, std::int64_t keys);
  void start_row(std::int64_t row, const double* p);
  // Chunks are numbered from 0 in key order. chunk(c) is relative to the block's key 0.
  std::int64_t chunks() const { return chunks_; }
  KeyRange chunk(std::int64_t c) const;
  // Adds o [R, dim_vo], the sums up to the end of chunk c.
  void add_edge(std::int64_t c, const double* o);

  // Bounds of max - min, zero included, of a row's prefix sums, in v_unit: at most range(), at
  // least edge_range().
  float range(std::int64_t row, std::int64_t column) const {
    return high_.data()[row * head_->ld + column] - low_.data()[row * head_->ld + column];
  }
  float edge_range(std::int64_t row, std::int64_t column) const {
    return edge_high_.data()[row * head_->ld + column] - edge_low_.data()[row * head_->ld + column];
  }

 private:
  void extend(std::int64_t row, std::int64_t edge, const double* o);

  const HeadData* head_ = nullptr;
  std::int64_t rows_ = 0, first_key_ = 0, keys_ = 0, first_chunk_ = 0, chunks_ = 0;
  // [R, chunks + 1] at the edge before a chunk: the larger 2-norm of P in the two adjacent chunks
  Buffer<float> norms_;
  std::vector<double> zeros_;                        // [dim_vo]
  Buffer<float> high_, low_, edge_high_, edge_low_;  // [R, ld]
};

}  // namespace plumbline
