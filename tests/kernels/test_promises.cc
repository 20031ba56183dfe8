// The CPU kernels keep their promises about which bits a transformed problem may change. Bits are
// compared through decoded values: NaN never occurs, and decoding loses only the sign of zero,
// which is compared separately.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>

#include "harness/provider/promises.h"
#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y && std::signbit(x) == std::signbit(y);
         });
}

Problem ragged_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 4;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 40;
  problem.seq_kv = 600;
  problem.head_dim_qk = 24;
  problem.head_dim_vo = 40;
  problem.mask = Mask::causal_bottom_right;
  problem.lengths = Lengths::random;
  problem.layout = Layout::ragged;
  return problem;
}

class Promises : public ::testing::TestWithParam<const char*> {
 protected:
  std::string kernel() const { return GetParam(); }
  bool padded_only() const { return kernel() == "flash_unpad"; }
  Problem problem() const {
    Problem problem = ragged_problem(kernel() == "flash_p32" ? DType::f32 : DType::bf16);
    if (padded_only()) problem.layout = Layout::padded_bshd;
    return problem;
  }
  void expect_same(const Answer& a, const Answer& b, const std::string& what) const {
    ASSERT_EQ(a.status, PLUMBLINE_OK) << a.reason;
    ASSERT_EQ(b.status, PLUMBLINE_OK) << b.reason;
    EXPECT_FALSE(a.out.empty());
    EXPECT_TRUE(same_bits(a.out, b.out)) << what;
    if (a.lse.empty() || b.lse.empty()) return;  // not requested
    EXPECT_TRUE(same_bits(a.lse, b.lse)) << "LSE: " << what;
  }
};

TEST_P(Promises, Declared) {
  const plumbline_promises promises = call(kernel(), problem()).description.promises;
  const bool splits = kernel().starts_with("split_kv");
  EXPECT_EQ(promises.run_to_run, PLUMBLINE_PROMISE_BITWISE);
  EXPECT_EQ(promises.batch, PLUMBLINE_PROMISE_BITWISE);
  EXPECT_EQ(promises.layout, PLUMBLINE_PROMISE_BITWISE);
  EXPECT_EQ(promises.page, PLUMBLINE_PROMISE_BITWISE);
  EXPECT_EQ(promises.lse, PLUMBLINE_PROMISE_BITWISE);
  EXPECT_EQ(promises.split, PLUMBLINE_PROMISE_ROUNDING);
  EXPECT_EQ(promises.prefill_decode,
            splits ? PLUMBLINE_PROMISE_ROUNDING : PLUMBLINE_PROMISE_BITWISE);
}

TEST_P(Promises, RunToRunWithAnyWorkspace) {
  const Answer first = call(kernel(), problem());
  expect_same(first, call(kernel(), problem()), "second run");
  expect_same(first, call(kernel(), problem(), {.workspace_fill = std::byte{0x00}}),
              "workspace of zeros");
  expect_same(first, call(kernel(), problem(), {.workspace_fill = std::byte{0x7b}}),
              "workspace of large numbers");
}

TEST_P(Promises, Layout) {
  Problem padded = problem();
  padded.layout = Layout::padded_bshd;
  const Answer first = call(kernel(), padded);
  for (const Layout layout :
       {Layout::padded_bhsd, Layout::ragged, Layout::paged_nhd, Layout::paged_hnd}) {
    Problem other = padded;
    other.layout = layout;
    if (padded_only() && !other.is_padded()) continue;
    expect_same(first, call(kernel(), other), std::string(name(layout)));
  }
  padded.padding = Padding::left;
  expect_same(first, call(kernel(), padded), "padding on the left");
  expect_same(first, call(kernel(), padded, {.stretch = 2}), "strided views");
}

TEST_P(Promises, PageOrderAndSize) {
  Problem paged = problem();
  paged.layout = Layout::paged_nhd;
  paged.lengths = Lengths::full;
  const Answer first = call(kernel(), paged);
  if (padded_only()) {
    EXPECT_EQ(first.status, PLUMBLINE_UNSUPPORTED);
    return;
  }
  for (const std::int64_t page_size : {1, 7, 64, 1024}) {
    for (const std::uint64_t seed : {1, 2}) {
      paged.page_size = page_size;
      paged.seed = seed;
      expect_same(first, call(kernel(), paged),
                  "page size " + std::to_string(page_size) + " seed " + std::to_string(seed));
    }
  }
}

TEST_P(Promises, BatchNeighboursAndPosition) {
  const Problem batch = problem();
  const Geometry geometry(batch);
  const Answer together = call(kernel(), batch);
  ASSERT_EQ(together.status, PLUMBLINE_OK);
  const RowIndex index(geometry);
  for (std::int64_t b = 0; b < batch.batch; ++b) {
    Problem alone = batch;
    alone.batch = 1;
    alone.lengths = Lengths::full;
    alone.seq_q = geometry.length_q(b);
    alone.seq_kv = geometry.length_kv(b);
    const Answer solo = call(kernel(), alone, {.sample_ids = {b}});
    const auto begin = static_cast<std::ptrdiff_t>(index.row(b, 0, 0)) * batch.head_dim_vo;
    const std::vector<double> part(together.out.begin() + begin,
                                   together.out.begin() + begin + std::ssize(solo.out));
    EXPECT_TRUE(same_bits(part, solo.out)) << "sample " << b;
  }
}

TEST_P(Promises, LseOutputChangesNoBit) {
  Problem without = problem();
  without.lse = false;
  expect_same(call(kernel(), problem()), call(kernel(), without), "without LSE");
}

// Row i of a causal prefill sees the same keys as the decode of token i.
TEST_P(Promises, PrefillAndDecode) {
  Problem prefill = problem();
  prefill.batch = 1;
  prefill.seq_q = prefill.seq_kv = 333;
  for (const std::int64_t window : {-1, 100}) {
    prefill.window_left = window;
    const Answer whole = call(kernel(), prefill);
    const RowIndex index{Geometry(prefill)};
    bool same = true;
    for (const std::int64_t token : {0, 1, 63, 64, 65, 200, 320, 332}) {
      Problem decode = prefill;
      decode.lengths = Lengths::full;
      decode.seq_q = 1;
      decode.seq_kv = token + 1;
      const Answer step = call(kernel(), decode);
      for (std::int64_t h = 0; h < prefill.heads_q; ++h) {
        const auto row = static_cast<std::ptrdiff_t>(index.row(0, h, token)) * prefill.head_dim_vo;
        const std::vector<double> part(whole.out.begin() + row,
                                       whole.out.begin() + row + prefill.head_dim_vo);
        const std::vector<double> decoded(step.out.begin() + h * prefill.head_dim_vo,
                                          step.out.begin() + (h + 1) * prefill.head_dim_vo);
        same = same && same_bits(part, decoded);
      }
    }
    const bool promised = whole.description.promises.prefill_decode == PLUMBLINE_PROMISE_BITWISE;
    EXPECT_EQ(same, promised) << "window " << window;
  }
}

TEST_P(Promises, RowsPerTileChangeNoBit) {
  const Answer first = call(kernel(), problem());
  for (const int tile_q : {1, 3, 16, 64, 256}) {
    const std::string options = "tile_q=" + std::to_string(tile_q);
    expect_same(first, call(kernel(), problem(), {.options = options}), options);
  }
}

TEST_P(Promises, CallerRoundingMode) {
  const Answer first = call(kernel(), problem());
  const unsigned saved = _mm_getcsr();
  const Geometry geometry(problem());
  const Inputs inputs = make_inputs(geometry);
  _mm_setcsr(saved | 0xe040U);  // rounding toward zero, FTZ and DAZ
  const Answer second = call(kernel(), geometry, inputs);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(after & 0xe040U, 0xe040U) << "the caller's mode was not restored";
  expect_same(first, second, "other rounding mode");
}

INSTANTIATE_TEST_SUITE_P(Cpu, Promises,
                         ::testing::Values("naive", "flash", "flash_p32", "split_kv", "flash_unpad",
                                           "flash_attended", "flash_denominator", "split_kv_16",
                                           "flash_tile32", "flash_tile128", "flash_lazy",
                                           "flash_lse2"),
                         [](const auto& test) { return std::string(test.param); });

// Reversing the key order keeps all promises: a row has the same tiles in reverse order.
TEST(ReversedTiles, KeepPrefillAndDecodeEqual) {
  Problem prefill = ragged_problem(DType::f16);
  prefill.batch = 1;
  prefill.lengths = Lengths::full;
  prefill.seq_q = prefill.seq_kv = 150;
  const Answer whole = call("flash", prefill, {.options = "reverse=1"});
  Problem decode = prefill;
  decode.seq_q = 1;
  decode.seq_kv = 100;
  const Answer step = call("flash", decode, {.options = "reverse=1"});
  const RowIndex index{Geometry(prefill)};
  const auto row = static_cast<std::ptrdiff_t>(index.row(0, 0, 99)) * prefill.head_dim_vo;
  const std::vector<double> part(whole.out.begin() + row,
                                 whole.out.begin() + row + prefill.head_dim_vo);
  EXPECT_TRUE(same_bits(part, {step.out.begin(), step.out.begin() + prefill.head_dim_vo}));
}

}  // namespace
}  // namespace plumbline::testing
