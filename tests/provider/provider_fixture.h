// A worker with one provider, and a case placed in its arena.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/problem/dtype.h"
#include "harness/problem/geometry.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// A small case with an answer known without arithmetic. K is zero, so every output row is the mean
// of V: column d plus the mean of the key indices.
inline Problem mean_problem(DType dtype = DType::f32) {
  Problem p;
  p.dtype = dtype;
  p.batch = 2;
  p.heads_q = 2;
  p.heads_kv = 1;
  p.seq_q = 3;
  p.seq_kv = 5;
  p.head_dim_qk = 8;
  p.head_dim_vo = 7;  // rows of 7 elements: tensors end inside a page, with guard bytes after them
  return p;
}

class PlacedCase {
 public:
  PlacedCase(Worker& worker, const Problem& problem) : worker_(worker), geometry_(problem) {
    auto placed = place_tensors(worker.arena(), geometry_);
    EXPECT_TRUE(placed) << to_string(placed.error());
    request = *placed;
    fill();
  }

  // Fills Q with ones, K with zeros, V with key + column; poisons the outputs.
  void fill() {
    const Problem& p = geometry_.problem();
    set(request.q, geometry_.q,
        std::vector<float>(static_cast<std::size_t>(geometry_.q.elements), 1.0f));
    set(request.k, geometry_.k,
        std::vector<float>(static_cast<std::size_t>(geometry_.k.elements), 0.0f));
    std::vector<float> v(static_cast<std::size_t>(geometry_.v.elements), 0.0f);
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t key = 0; key < geometry_.length_kv(b); ++key) {
        for (std::int64_t h = 0; h < p.heads_kv; ++h) {
          for (std::int64_t d = 0; d < p.head_dim_vo; ++d) {
            v[static_cast<std::size_t>(geometry_.v_offset(b, key, h) + d)] =
                static_cast<float>(key + d);
          }
        }
      }
    }
    set(request.v, geometry_.v, v);
    poison();
  }

  void poison() {
    worker_.arena().poison(static_cast<std::size_t>(request.out));
    if (request.lse >= 0) worker_.arena().poison(static_cast<std::size_t>(request.lse));
  }

  RunReply run(const std::string& kernel) {
    request.kernel = kernel;
    return worker_.run(request);
  }

  // Returns the largest |out - answer| over all elements of valid rows; infinite if one is NaN.
  double error() const {
    const Problem& p = geometry_.problem();
    const void* out = worker_.arena().data(static_cast<std::size_t>(request.out));
    double largest = 0;
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t row = 0; row < geometry_.length_q(b); ++row) {
        const KeyRange keys = geometry_.visible_keys(b, row);
        for (std::int64_t h = 0; h < p.heads_q; ++h) {
          for (std::int64_t d = 0; d < p.head_dim_vo; ++d) {
            const double expected =
                static_cast<double>(keys.begin + keys.end - 1) / 2 + static_cast<double>(d);
            const double got = decode_at(
                p.out(), out, static_cast<std::size_t>(geometry_.out_offset(b, row, h) + d));
            const double difference = std::abs(got - expected);
            if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
            largest = std::max(largest, difference);
          }
        }
      }
    }
    return largest;
  }

  std::vector<std::ptrdiff_t> broken_out_fences() const {
    return worker_.arena().broken_fence_bytes(static_cast<std::size_t>(request.out));
  }
  const Geometry& geometry() const { return geometry_; }

  RunRequest request;

 private:
  void set(int slot, const TensorShape& shape, const std::vector<float>& values) {
    encode(shape.dtype, values, worker_.arena().data(static_cast<std::size_t>(slot)));
  }

  Worker& worker_;
  Geometry geometry_;
};

}  // namespace plumbline
