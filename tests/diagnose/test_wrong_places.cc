// Tests that other layouts, columns, keys from a bound on and factors of fp8 numbers are named.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/fp8_factors.h"
#include "harness/diagnose/key_bounds.h"
#include "harness/diagnose/wrong_places.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using test::write_rows;

std::string place_of(const FilledProblem& filled) {
  const FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  return wrong_places(failing.output);
}

// Writes the rows that a kernel computes from other K and V.
void attend_to(FilledProblem& filled, const std::vector<std::byte>& k,
               const std::vector<std::byte>& v) {
  write_rows(filled, compute_reference(filled.geometry, {filled.q.data(), k.data(), v.data()},
                                       filled.spec, filled.reference.selection));
}

// Each sample of V is stored as [head, token, dim] and read as [token, head, dim]. A short sample
// has as many tokens in memory as a long one.
TEST(WrongPlaces, LayoutCountsPaddedKeys) {
  Problem problem = small_problem();
  problem.lengths = Lengths::one_long;
  problem.fill = Fill::zeros;
  FilledProblem filled(problem);
  ASSERT_EQ(filled.geometry.length_kv(0), 20);
  ASSERT_EQ(filled.geometry.length_kv(1), 1);
  constexpr std::size_t heads = 2, tokens = 20, vector_bytes = 32;
  std::vector<std::byte> v = filled.v;
  for (std::size_t sample = 0; sample < 2; ++sample) {
    for (std::size_t at = 0; at < heads * tokens; ++at) {
      const std::size_t head = at / tokens, token = at % tokens, first = sample * heads * tokens;
      std::memcpy(&v[(first + at) * vector_bytes],
                  &filled.v[(first + token * heads + head) * vector_bytes], vector_bytes);
    }
  }
  attend_to(filled, filled.k, v);
  EXPECT_EQ(place_of(filled), "V has another layout: heads before keys");
}

TEST(WrongPlaces, ZerosAndSign) {
  for (const double factor : {0.0, -1.0}) {
    FilledProblem filled(small_problem());
    for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
      for (std::int64_t j = 0; j < filled.reference.columns; ++j)
        filled.set(filled.reference.selection.rows[r], j,
                   factor * filled.expected(r, static_cast<std::size_t>(j)));
    }
    EXPECT_EQ(place_of(filled),
              factor == 0 ? "the output is all zeros" : "the output is negated: a wrong sign");
  }
}

// Returns K or V with zeros from a key on.
std::vector<std::byte> zeros_from(std::vector<std::byte> tensor, std::size_t key) {
  constexpr std::size_t token_bytes = 2 * 16 * 2, sample_bytes = 20 * token_bytes;
  for (std::size_t sample = 0; sample < 2; ++sample) {
    std::fill(
        tensor.begin() + static_cast<std::ptrdiff_t>(sample * sample_bytes + key * token_bytes),
        tensor.begin() + static_cast<std::ptrdiff_t>((sample + 1) * sample_bytes), std::byte{0});
  }
  return tensor;
}

TEST(KeyBounds, FirstZeroKeyIsFitted) {
  FilledProblem filled(small_problem());
  attend_to(filled, zeros_from(filled.k, 13), filled.v);
  EXPECT_EQ(place_of(filled), "keys from 13 on are read from elsewhere: K is zero there");
  attend_to(filled, filled.k, zeros_from(filled.v, 7));
  EXPECT_EQ(place_of(filled), "keys from 7 on are read from elsewhere: V is zero there");
  attend_to(filled, zeros_from(filled.k, 5), zeros_from(filled.v, 5));
  EXPECT_EQ(place_of(filled), "keys from 5 on are read from elsewhere: K and V are zero there");
}

// A token has 2 heads of 16 numbers of 2 bytes, and a sample 20 tokens.
TEST(KeyBounds, OffsetsReachLimit) {
  const Geometry geometry(small_problem());
  EXPECT_EQ((OffsetBound{100, false, true}.key(geometry, false, 1, 0)), 4);
  EXPECT_EQ((OffsetBound{100, true, true}.key(geometry, true, 1, 0)), 2);
  EXPECT_EQ((OffsetBound{700, false, false}.key(geometry, false, 1, 0)), 2);
  EXPECT_EQ((OffsetBound{700, false, false}.key(geometry, false, 0, 0)), 20) << "no key reaches it";
  EXPECT_EQ((OffsetBound{0x1p31, false, true}.text()), "key * stride passes 2^31 elements");
  EXPECT_EQ((OffsetBound{0x1p32, true, false}.text()),
            "the offset from the first key of the tensor passes 2^32 bytes");
}

// Writes the rows that a kernel computes if the scales of K and V (and Q, if it is fp8) are
// multiplied by factors.
FilledProblem with_scales(const Problem& problem, double q, double k, double v) {
  FilledProblem filled(problem);
  StatedLayout layout = layout_of(filled.geometry, false);
  for (float& scale : layout.side->q_scale) scale *= static_cast<float>(q);
  for (float& scale : layout.side->k_scale) scale *= static_cast<float>(k);
  for (float& scale : layout.side->v_scale) scale *= static_cast<float>(v);
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  return filled;
}

std::string encoding_of(const Problem& problem, double q, double k, double v) {
  const FilledProblem filled = with_scales(problem, q, k, v);
  const FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  return other_fp8_encoding(failing.output);
}

TEST(OtherFp8Encoding, EachTensorIsNamed) {
  Problem problem = small_problem();
  problem.kv_dtype = DType::e4m3;
  EXPECT_EQ(encoding_of(problem, 1, 0.5, 0.5),
            "K and V are half as large: e4m3 read as e4m3fnuz or the reverse, or a scale off by 2");
  EXPECT_EQ(encoding_of(problem, 1, 2, 1),
            "K is twice as large: e4m3 read as e4m3fnuz or the reverse, or a scale off by 2");
  problem.kv_dtype = DType::e5m2;
  EXPECT_EQ(encoding_of(problem, 1, 1, 0.5),
            "V is half as large: e5m2 read as e5m2fnuz or the reverse, or a scale off by 2");
  problem.dtype = DType::e4m3;
  problem.kv_dtype = DType::none;
  EXPECT_EQ(encoding_of(problem, 0.5, 0.5, 0.5),
            "Q, K and V are half as large: e4m3 read as e4m3fnuz or the reverse, or a scale off by "
            "2");
  EXPECT_EQ(encoding_of(problem, 0.5, 1, 1),
            "K is half as large (or Q in place of K): e4m3 read as e4m3fnuz or the reverse, or a "
            "scale off by 2");
}

TEST(OtherFp8Factors, BothFactorsAreFitted) {
  Problem problem = small_problem();
  problem.kv_dtype = DType::e4m3;
  EXPECT_EQ(place_of(with_scales(problem, 1, 0.7, 1.3)),
            "Q K^T is 0.7 times and V 1.3 times as large: their fp8 scales are wrong");
  EXPECT_EQ(place_of(with_scales(problem, 1, 0.7, 1)), "") << "one factor has other sentences";
}

}  // namespace
}  // namespace plumbline
