// Generated inputs have the same bits in every layout and batch and on any number of threads.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>
#include <xxhash.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "harness/problem/inputs.h"
#include "tests/inputs/filled.h"

namespace plumbline {
namespace {

Problem small_problem() {
  Problem problem;
  problem.batch = 3;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 37;
  problem.seq_kv = 37;
  problem.head_dim_qk = 40;
  problem.head_dim_vo = 24;
  problem.lengths = Lengths::random;
  return problem;
}

const Layout all_layouts[] = {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                              Layout::paged_nhd, Layout::paged_hnd};

// fp32, so that only the generator matters. Verified with g++ -O0, -O2 and -O3, with and without
// AVX2. After an intended change, raise inputs_version.
TEST(Inputs, BitsOfEachLaw) {
  const std::map<Law, std::uint64_t> of_law = {
      {Law::normal, 0xfa6c92c6f4049fe5},
      {Law::uniform, 0xc5782bd61aee3908},
      {Law::llm, 0x5bad659ff5282878},
      {Law::peaky, 0x92cc6477261c8503},
      {Law::near_uniform, 0x845a4f92e4bb386b},
      {Law::sink, 0x814847978d8cba68},
      {Law::needle, 0xf3b5a5fbe20328eb},
      {Law::exact, 0x30637bc51dd0f01b},
      {Law::negative_logits, 0x5c4eabe67a75be83},
      {Law::ramp, 0x479e776d169b3f48},
      {Law::extreme, 0xc010fe95163502c8},
      {Law::near_ties, 0xb7cc6d6cb144d5ca},
  };
  const std::map<VLaw, std::uint64_t> of_v_law = {
      {VLaw::normal, 0xfa6c92c6f4049fe5},      {VLaw::uniform, 0xbc3cf0580120a8dc},
      {VLaw::large_mean, 0x5d7c1d140899e650},  {VLaw::constant, 0x8a90547ec237395e},
      {VLaw::grid, 0x216325a103502028},        {VLaw::band, 0x6d8fb0bcbb55ef0c},
      {VLaw::tiny_output, 0xf337fc2b2ba431f6},
  };
  const auto bits_of = [](Law law, VLaw v_law) {
    Problem problem = small_problem();
    problem.dtype = DType::f32;
    problem.lengths = Lengths::full;
    problem.law = law;
    problem.v_law = v_law;
    const std::vector<float> valid = Filled(problem).valid();
    return XXH3_64bits(valid.data(), valid.size() * sizeof(float));
  };
  EXPECT_EQ(of_law.size(), all<Law>().size());
  EXPECT_EQ(of_v_law.size(), all<VLaw>().size());
  for (const auto& [law, bits] : of_law) EXPECT_EQ(bits_of(law, VLaw::normal), bits) << name(law);
  for (const auto& [law, bits] : of_v_law) EXPECT_EQ(bits_of(Law::normal, law), bits) << name(law);
}

TEST(Inputs, ValidRowsIndependentOfLayoutAndFill) {
  Problem problem = small_problem();
  const std::vector<float> reference = Filled(problem).valid();
  ASSERT_FALSE(reference.empty());
  for (const Layout layout : all_layouts) {
    for (const Fill fill : {Fill::garbage, Fill::zeros, Fill::nan}) {
      for (const std::int64_t page_size : {1, 16}) {
        problem.layout = layout;
        problem.fill = fill;
        problem.page_size = page_size;
        EXPECT_EQ(Filled(problem).valid(), reference)
            << name(layout) << " " << name(fill) << " " << page_size;
      }
    }
  }
  problem = small_problem();
  problem.padding = Padding::left;
  EXPECT_EQ(Filled(problem).valid(), reference);
}

TEST(Inputs, SamplesIndependentOfBatch) {
  Problem problem = small_problem();
  problem.lengths = Lengths::full;
  const Filled batch(problem);
  problem.batch = 1;
  const Filled solo(problem);
  EXPECT_EQ(solo.query(0, 36, 3), batch.query(0, 36, 3));
  EXPECT_EQ(solo.key(0, 36, 1), batch.key(0, 36, 1));
  EXPECT_NE(batch.query(1, 36, 3), batch.query(0, 36, 3));
}

TEST(Inputs, DecodeQueryEqualsLastPrefillRow) {
  for (const Law law : {Law::normal, Law::llm, Law::sink, Law::needle, Law::exact}) {
    Problem prefill = small_problem();
    prefill.law = law;
    Problem decode_one = prefill;
    decode_one.seq_q = 1;
    const Filled all(prefill), last(decode_one);
    for (std::int64_t sample = 0; sample < prefill.batch; ++sample) {
      ASSERT_EQ(all.geometry.length_kv(sample), last.geometry.length_kv(sample));
      const std::int64_t row = all.geometry.length_q(sample) - 1;
      for (std::int64_t head = 0; head < prefill.heads_q; ++head) {
        EXPECT_EQ(last.query(sample, 0, head), all.query(sample, row, head)) << name(law);
      }
      EXPECT_EQ(last.key(sample, 0, 1), all.key(sample, 0, 1)) << name(law);
    }
  }
}

TEST(Inputs, IndependentOfThreads) {
  Problem problem = small_problem();
  problem.seq_q = problem.seq_kv = 400;
  tbb::task_arena one(1), two(2);
  std::vector<float> serial, parallel;
  one.execute([&] { serial = Filled(problem).valid(); });
  two.execute([&] { parallel = Filled(problem).valid(); });
  EXPECT_EQ(serial, parallel);
}

// Returns the elements of `data` that no valid row covers.
std::vector<float> gaps(const TensorShape& shape, const std::vector<unsigned char>& data,
                        const std::set<std::int64_t>& valid_rows, std::int64_t dims) {
  std::vector<float> found;
  for (std::int64_t element = 0; element < shape.elements;) {
    if (valid_rows.count(element) != 0) {
      element += dims;
      continue;
    }
    found.push_back(
        static_cast<float>(decode_at(shape.dtype, data.data(), static_cast<std::size_t>(element))));
    ++element;
  }
  return found;
}

std::vector<float> all_gaps(const Filled& inputs) {
  const Problem& problem = inputs.geometry.problem();
  std::set<std::int64_t> q_rows, k_rows, v_rows;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t row = 0; row < inputs.geometry.length_q(sample); ++row) {
      for (std::int64_t head = 0; head < problem.heads_q; ++head)
        q_rows.insert(inputs.geometry.q_offset(sample, row, head));
    }
    for (std::int64_t row = 0; row < inputs.geometry.length_kv(sample); ++row) {
      for (std::int64_t head = 0; head < problem.heads_kv; ++head) {
        k_rows.insert(inputs.geometry.k_offset(sample, row, head));
        v_rows.insert(inputs.geometry.v_offset(sample, row, head));
      }
    }
  }
  std::vector<float> found = gaps(inputs.geometry.q, inputs.q, q_rows, problem.head_dim_qk);
  const std::vector<float> k = gaps(inputs.geometry.k, inputs.k, k_rows, problem.head_dim_qk);
  const std::vector<float> v = gaps(inputs.geometry.v, inputs.v, v_rows, problem.head_dim_vo);
  found.insert(found.end(), k.begin(), k.end());
  found.insert(found.end(), v.begin(), v.end());
  return found;
}

TEST(Fill, CoversEverythingOutsideValidRows) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    for (const Layout layout : all_layouts) {
      if (layout == Layout::ragged) continue;  // has no gaps
      Problem problem = small_problem();
      problem.dtype = dtype;
      problem.layout = layout;
      const std::string where = std::string(name(dtype)) + " " + std::string(name(layout));

      const std::vector<float> garbage = all_gaps(Filled(problem));
      ASSERT_FALSE(garbage.empty()) << where;
      for (const float x : garbage)
        ASSERT_TRUE(std::fabs(x) >= 250 && std::fabs(x) <= 352) << where << " " << x;
      EXPECT_GT(std::set<float>(garbage.begin(), garbage.end()).size(), 50U) << where;

      problem.fill = Fill::zeros;
      for (const float x : all_gaps(Filled(problem))) ASSERT_EQ(x, 0) << where;
      problem.fill = Fill::nan;
      for (const float x : all_gaps(Filled(problem))) ASSERT_TRUE(std::isnan(x)) << where;
    }
  }
}

TEST(Fill, RaggedHasNoGaps) {
  Problem problem = small_problem();
  problem.layout = Layout::ragged;
  const Filled inputs(problem);
  std::vector<float> q(static_cast<std::size_t>(inputs.geometry.q.elements));
  decode(problem.dtype, inputs.q.data(), std::span<float>(q));
  for (const float x : q) ASSERT_LT(std::fabs(x), 10);
}

TEST(Inputs, SamplesWithoutKeysOrQueries) {
  Problem problem = small_problem();
  problem.lengths = Lengths::with_zero;
  for (const Law law : {Law::normal, Law::sink, Law::needle, Law::exact}) {
    for (const Layout layout : all_layouts) {
      problem.law = law;
      problem.layout = layout;
      const Filled inputs(problem);
      EXPECT_EQ(inputs.geometry.length_kv(2), 0);
      for (const float x : inputs.valid()) ASSERT_TRUE(std::isfinite(x));
    }
  }
}

TEST(ProblemDigest, IdentifiesInputs) {
  const Problem problem = small_problem();
  Problem other = problem;
  other.seed = 2;
  const std::string digest = problem_digest(problem);
  EXPECT_EQ(digest.size(), 32U);
  EXPECT_EQ(digest.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(problem_digest(small_problem()), digest);
  EXPECT_NE(problem_digest(other), digest);
  other = problem;
  other.out_dtype = problem.dtype;
  EXPECT_EQ(problem_digest(other), digest) << "the same problem, spelled out";
}

}  // namespace
}  // namespace plumbline
