// The bounds of prefix sums enclose the range of the sums of every prefix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "harness/reference/prefix_bounds.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// Expects that the bounds hold for weights p of the keys from `first_key` on.
void expect_enclosed(const HeadData& head, std::int64_t first_key, const std::vector<double>& p) {
  PrefixBounds bounds;
  bounds.start(head, 1, first_key, std::ssize(p));
  bounds.start_row(0, p.data());
  const KeyChunks chunks(first_key, std::ssize(p));
  const auto columns = static_cast<std::size_t>(head.dim_vo);
  std::vector<double> sum(columns), high(columns), low(columns);
  for (std::int64_t c = 0; c < chunks.count(); ++c) {
    for (std::int64_t k = chunks.keys_of(c).begin; k < chunks.keys_of(c).end; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        sum[j] += p[static_cast<std::size_t>(k)] *
                  head.v[static_cast<std::size_t>(first_key + k) * columns + j];
        high[j] = std::max(high[j], sum[j]);
        low[j] = std::min(low[j], sum[j]);
      }
    }
    bounds.add_edge(c, sum.data());
  }
  for (std::size_t j = 0; j < columns; ++j) {
    const auto column = static_cast<std::int64_t>(j);
    const double range = (high[j] - low[j]) / head.v_unit;
    EXPECT_GE(bounds.range(0, column), range * (1 - 1e-6));
    EXPECT_LE(bounds.edge_range(0, column), range * (1 + 1e-6));
  }
}

// The sum rises to 1/2 in four chunks. In the fifth it rises to 5/4 and falls to 1. The sum before
// the chunk is lower than 5/4 by more than half of the chunk's weight. The sixth chunk has no
// weight.
TEST(PrefixBounds, HoldBeforeChunkWithoutWeight) {
  constexpr std::int64_t fifth = 4 * chunk_keys, sixth = 5 * chunk_keys;
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_kv = 6 * chunk_keys;
  problem.head_dim_vo = 1;
  FilledProblem filled(problem);
  set_elements(filled.v, problem.dtype, 1, [](std::int64_t key, std::int64_t) {
    return key >= sixth - chunk_keys / 4 && key < sixth ? -1.0F : 1.0F;
  });
  const InputView view = filled.view();
  const ReferenceContext question(filled.geometry, view, strict_spec(problem));
  const HeadData head = gather_head(question, 0, 0, {0, problem.seq_kv});
  std::vector<double> p(static_cast<std::size_t>(problem.seq_kv), 0);
  constexpr double weight = 1 / static_cast<double>(chunk_keys);
  std::fill(p.begin(), p.begin() + fifth, weight / 8);
  std::fill(p.begin() + fifth, p.begin() + sixth, weight);
  expect_enclosed(head, 0, p);
}

// Chunks have unequal weights, and blocks begin anywhere in a chunk.
TEST(PrefixBounds, HoldForRandomWeights) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_kv = 400;
  problem.head_dim_vo = 8;
  const FilledProblem filled(problem);
  const InputView view = filled.view();
  const ReferenceContext question(filled.geometry, view, strict_spec(problem));
  const HeadData head = gather_head(question, 0, 0, {0, problem.seq_kv});
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (int draw = 0; draw < 300; ++draw) {
    const std::int64_t first_key = std::uniform_int_distribution<std::int64_t>(0, 150)(random),
                       keys = std::uniform_int_distribution<std::int64_t>(1, 250)(random);
    std::vector<double> p;
    double of_chunk = 1;
    for (std::int64_t k = 0; k < keys; ++k) {
      if ((first_key + k) % chunk_keys == 0) of_chunk = std::exp(3 * normal(random));
      p.push_back(of_chunk * uniform(random) / static_cast<double>(keys));
    }
    expect_enclosed(head, first_key, p);
  }
}

}  // namespace
}  // namespace plumbline
