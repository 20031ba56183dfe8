// The nightly suites have every value that must be tested, listed here by hand, so that none can
// disappear unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "harness/suite/suite.h"

namespace plumbline {
namespace {

using testing::IsSupersetOf;

const Suite& nightly() {
  static const Suite suite = [] {
    auto read = read_suite(PLUMBLINE_CASES "/nightly.toml");
    EXPECT_TRUE(read) << (read ? "" : to_string(read.error()));
    return read ? *read : Suite{};
  }();
  return suite;
}

template <class Value>
std::set<Value> every(const std::function<Value(const Problem&)>& value) {
  std::set<Value> values;
  for (const SuiteCase& c : nightly().cases) values.insert(value(c.problem));
  return values;
}
std::set<std::int64_t> numbers(std::int64_t Problem::*member) {
  return every<std::int64_t>([=](const Problem& p) { return p.*member; });
}
bool any(const std::function<bool(const Problem&)>& holds) {
  for (const SuiteCase& c : nightly().cases) {
    if (holds(c.problem)) return true;
  }
  return false;
}
bool runs(const std::string& pattern) {
  for (const SuiteCase& c : nightly().cases) {
    if (c.kernel_pattern == pattern) return true;
  }
  return false;
}

TEST(NightlyMatrix, Dtypes) {
  EXPECT_THAT(every<DType>([](const Problem& p) { return p.dtype; }),
              IsSupersetOf({DType::f32, DType::f16, DType::bf16}));
  EXPECT_TRUE(
      any([](const Problem& p) { return p.dtype == DType::bf16 && p.kv() == DType::e4m3; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.dtype == DType::f16 && p.kv() == DType::e5m2; }));
  EXPECT_TRUE(
      any([](const Problem& p) { return p.dtype == DType::bf16 && p.out() == DType::f32; }));
  EXPECT_THAT(
      every<KvScales>(
          [](const Problem& p) { return p.has_fp8_kv() ? p.kv_scales : KvScales::head; }),
      IsSupersetOf({KvScales::tensor, KvScales::batch_head, KvScales::token, KvScales::block}));
  EXPECT_TRUE(any([](const Problem& p) { return p.dtype == DType::e4m3; }));
  EXPECT_TRUE(
      any([](const Problem& p) { return p.dtype == DType::bf16 && p.out() == DType::e4m3; }));
}

TEST(NightlyMatrix, TensorCores) {
  EXPECT_TRUE(runs("cpu/flash_p32"));          // P not rounded
  EXPECT_TRUE(runs("emulated/prefill_mma"));   // P in 16 bits on tensor cores, fp32 through tf32
  EXPECT_TRUE(runs("emulated/prefill_simt"));  // off
  EXPECT_TRUE(runs("cpu/split_kv"));           // several splits
  EXPECT_TRUE(runs("cpu/flash_lse2"));         // LSE in base 2
  EXPECT_TRUE(runs("cpu/merge"));              // states of parts
}

TEST(NightlyMatrix, Shapes) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_THAT(
      every<Pair>([](const Problem& p) { return Pair(p.head_dim_qk, p.head_dim_vo); }),
      IsSupersetOf({Pair(64, 64), Pair(128, 128), Pair(256, 256), Pair(192, 128), Pair(576, 512),
                    Pair(96, 96), Pair(59, 59), Pair(111, 111), Pair(203, 203)}));
  EXPECT_THAT(every<std::int64_t>([](const Problem& p) { return p.group(); }),
              IsSupersetOf({1, 2, 3, 4, 5, 7, 8, 16, 17, 20, 24, 71}));
  EXPECT_TRUE(any([](const Problem& p) { return p.heads_kv == 1 && p.heads_q > 1; })) << "MQA";
  EXPECT_THAT(numbers(&Problem::batch), IsSupersetOf({1, 4, 16, 57}));
  EXPECT_THAT(numbers(&Problem::seq_q),
              IsSupersetOf({0, 1, 2, 63, 64, 65, 127, 128, 129, 577, 1025, 1500, 2048, 8192}));
  EXPECT_THAT(numbers(&Problem::seq_kv),
              IsSupersetOf({0, 1, 2, 63, 64, 65, 127, 128, 129, 577, 1023, 1024, 1025, 1500, 2048,
                            8192, 19802, 32789}));
}

TEST(NightlyMatrix, Layouts) {
  EXPECT_THAT(every<Layout>([](const Problem& p) { return p.layout; }),
              IsSupersetOf({Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                            Layout::paged_nhd, Layout::paged_hnd}));
  EXPECT_THAT(every<View>([](const Problem& p) { return p.view; }),
              IsSupersetOf({View::plain, View::strided, View::packed_qkv, View::packed_kv,
                            View::v_in_k, View::far}));
  EXPECT_THAT(every<Lengths>([](const Problem& p) { return p.lengths; }),
              IsSupersetOf({Lengths::full, Lengths::random, Lengths::near_full, Lengths::third,
                            Lengths::one_long, Lengths::with_zero, Lengths::serving}));
  EXPECT_THAT(every<std::int64_t>([](const Problem& p) { return p.is_paged() ? p.page_size : 16; }),
              IsSupersetOf({1, 16, 48, 64, 128, 256, 528, 672}));
  EXPECT_TRUE(
      any([](const Problem& p) { return p.padding == Padding::left && p.fill == Fill::nan; }));
  EXPECT_TRUE(any([](const Problem& p) {
    return p.is_padded() && p.padding == Padding::right && p.fill == Fill::nan;
  }));
}

TEST(NightlyMatrix, Masks) {
  EXPECT_THAT(every<Mask>([](const Problem& p) { return p.mask; }),
              IsSupersetOf({Mask::none, Mask::causal_top_left, Mask::causal_bottom_right,
                            Mask::prefix_lm, Mask::block_diagonal, Mask::custom}));
  EXPECT_TRUE(any(
      [](const Problem& p) { return p.mask == Mask::causal_bottom_right && p.seq_q > p.seq_kv; }));
  EXPECT_THAT(numbers(&Problem::window_left), IsSupersetOf({-1, 16, 32, 64, 127, 128, 256}));
  EXPECT_TRUE(any([](const Problem& p) { return p.window_left > 0 && p.window_right > 0; }));
}

TEST(NightlyMatrix, Logits) {
  EXPECT_THAT(every<double>([](const Problem& p) { return p.softcap; }),
              IsSupersetOf({0.0, 5.0, 30.0, 50.0}));
  EXPECT_THAT(every<Alibi>([](const Problem& p) { return p.alibi; }),
              IsSupersetOf({Alibi::none, Alibi::standard, Alibi::random}));
  EXPECT_THAT(every<Sinks>([](const Problem& p) { return p.sinks; }),
              IsSupersetOf({Sinks::none, Sinks::normal, Sinks::large}));
  EXPECT_TRUE(any([](const Problem& p) {
    return p.scale * static_cast<double>(p.head_dim_qk) == 1;
  })) << "1 / d";
}

TEST(NightlyMatrix, Corners) {
  EXPECT_TRUE(any([](const Problem& p) {
    return p.group() == 7 && p.is_causal() && p.seq_q > 1 && p.seq_q != p.seq_kv;
  })) << "a group of seven at a causal edge";
  EXPECT_TRUE(any([](const Problem& p) {
    return p.sinks != Sinks::none && p.window_left >= 0 && p.window_left < 64 && p.seq_kv > 512;
  })) << "a sink beside empty splits";
  EXPECT_TRUE(any([](const Problem& p) {
    return p.has_mask_bits() && p.seq_q * p.seq_kv > 8 * 65536;
  })) << "a mask of more than 65,536 bytes";
  for (const std::int64_t keys : {60, 255}) {
    const bool flat = any([keys](const Problem& p) {
      return p.law == Law::near_uniform && p.mask == Mask::none && p.seq_kv == keys;
    });
    EXPECT_TRUE(flat) << keys << " flat logits";
  }
  EXPECT_TRUE(any([](const Problem& p) {
    return p.is_paged() && p.lengths == Lengths::full && p.seq_kv % p.page_size == 0 &&
           p.page_size > 1;
  })) << "a full last page";
  EXPECT_TRUE(any([](const Problem& p) { return !p.lse && p.sinks != Sinks::none; }));
}

TEST(NightlyMatrix, Inputs) {
  EXPECT_THAT(every<Law>([](const Problem& p) { return p.law; }), IsSupersetOf(all<Law>()));
  EXPECT_THAT(every<VLaw>([](const Problem& p) { return p.v_law; }),
              IsSupersetOf({VLaw::normal, VLaw::uniform, VLaw::large_mean, VLaw::constant,
                            VLaw::grid, VLaw::tiny_output}));
}

}  // namespace
}  // namespace plumbline
