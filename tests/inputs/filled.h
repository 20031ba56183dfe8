// Inputs of a problem, readable by (sample, row, head) in any layout.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "harness/problem/inputs.h"

namespace plumbline {

struct Filled {
  explicit Filled(const Problem& problem)
      : geometry(problem),
        q(geometry.q.bytes(), 0x5A),
        k(geometry.k.bytes(), 0x5A),
        v(geometry.v.bytes(), 0x5A) {
    fill_inputs(geometry, q.data(), k.data(), v.data());
  }

  std::vector<float> query(std::int64_t sample, std::int64_t row, std::int64_t head) const {
    return read(q, geometry.q, geometry.q_offset(sample, row, head),
                geometry.problem().head_dim_qk);
  }
  std::vector<float> key(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const {
    return read(k, geometry.k, geometry.k_offset(sample, key, head_kv),
                geometry.problem().head_dim_qk);
  }
  std::vector<float> value(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const {
    return read(v, geometry.v, geometry.v_offset(sample, key, head_kv),
                geometry.problem().head_dim_vo);
  }
  // Returns all valid elements of q, then k, then v, in the order of (sample, row, head, dim).
  std::vector<float> valid() const {
    std::vector<float> all;
    const auto append = [&](const std::vector<float>& row) {
      all.insert(all.end(), row.begin(), row.end());
    };
    const Problem& problem = geometry.problem();
    for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
        for (std::int64_t head = 0; head < problem.heads_q; ++head)
          append(query(sample, row, head));
      }
      for (std::int64_t row = 0; row < geometry.length_kv(sample); ++row) {
        for (std::int64_t head = 0; head < problem.heads_kv; ++head) {
          append(key(sample, row, head));
          append(value(sample, row, head));
        }
      }
    }
    return all;
  }

  // Returns the logits of one query row for all keys of its sample, in fp64, with the default
  // scale.
  std::vector<double> logits(std::int64_t sample, std::int64_t row, std::int64_t head) const {
    const std::vector<float> query_row = query(sample, row, head);
    std::vector<double> s;
    for (std::int64_t j = 0; j < geometry.length_kv(sample); ++j) {
      const std::vector<float> key_row = key(sample, j, head / geometry.problem().group());
      double sum = 0;
      for (std::size_t d = 0; d < key_row.size(); ++d)
        sum += double{query_row[d]} * double{key_row[d]};
      s.push_back(sum / std::sqrt(static_cast<double>(key_row.size())));
    }
    return s;
  }

  Geometry geometry;
  std::vector<unsigned char> q, k, v;

 private:
  static std::vector<float> read(const std::vector<unsigned char>& data, const TensorShape& shape,
                                 std::int64_t offset, std::int64_t dims) {
    std::vector<float> row(static_cast<std::size_t>(dims));
    decode(shape.dtype, data.data() + static_cast<std::size_t>(offset) * size_in_bytes(shape.dtype),
           std::span<float>(row));
    return row;
  }
};

}  // namespace plumbline
