// The nightly suites have every value that must be tested, listed here by hand, so that none can
// disappear unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/suite/suite.h"

namespace plumbline {
namespace {

using testing::IsSupersetOf;

Suite read_bundled(const char* path) {
  auto read = read_suite(path);
  EXPECT_TRUE(read) << (read ? "" : to_string(read.error()));
  return read ? *read : Suite{};
}
const Suite& nightly() {
  static const Suite suite = read_bundled(PLUMBLINE_CASES "/nightly.toml");
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
bool any(const std::function<bool(const Problem&)>& holds, const Suite& suite = nightly()) {
  return std::ranges::any_of(suite.cases, [&](const SuiteCase& c) { return holds(c.problem); });
}
// True if both a kernel of the host and a CUDA kernel run such a problem.
bool any_on_both(const std::function<bool(const Problem&)>& holds) {
  const auto runs_on = [&](bool emulated) {
    return std::ranges::any_of(nightly().cases, [&](const SuiteCase& c) {
      return c.device.starts_with("emulated:") == emulated && holds(c.problem);
    });
  };
  return runs_on(false) && runs_on(true);
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

// Each of these dimensions reaches a bug that the suites once missed.

TEST(NightlyMatrix, WideGroupsAndTails) {
  for (const std::int64_t group : {17, 20, 24, 71}) {
    EXPECT_TRUE(any_on_both([&](const Problem& p) { return p.group() == group; })) << group;
  }
  for (std::int64_t keys = 241; keys <= 255; ++keys) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      EXPECT_TRUE(any([&](const Problem& p) {
        return p.group() == 16 && p.seq_q == 1 && p.seq_kv == keys && p.dtype == dtype;
      })) << keys;
    }
  }
  EXPECT_TRUE(any_on_both(
      [](const Problem& p) { return p.group() == 16 && p.seq_kv >= 241 && p.seq_kv <= 255; }));
}

TEST(NightlyMatrix, FarTokens) {
  for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged}) {
    for (const std::int64_t batch : {1, 2}) {
      EXPECT_TRUE(any([&](const Problem& p) {
        return p.view == View::far && p.batch == batch && p.layout == layout;
      })) << name(layout)
          << batch;
    }
  }
  EXPECT_TRUE(any_on_both([](const Problem& p) { return p.view == View::far && p.batch == 1; }));
}

TEST(NightlyMatrix, OddPagesAndLargePools) {
  for (const std::int64_t size : {48, 528, 672}) {
    EXPECT_TRUE(any_on_both([&](const Problem& p) {
      return p.is_paged() && p.page_size == size && p.seq_kv > 2 * size;
    })) << size;
  }
  // In rows with nearly all weight on one key, the pages of other keys do not matter.
  const auto has_pages = [](const Problem& p, std::int64_t pages) {
    return p.is_paged() && p.lengths == Lengths::full && p.law == Law::normal &&
           p.seq_kv / p.page_size > pages && p.seq_kv / p.page_size < 2 * pages;
  };
  for (const std::int64_t pages : {32'768, 65'536}) {
    EXPECT_TRUE(any_on_both([&](const Problem& p) { return has_pages(p, pages); })) << pages;
  }
}

TEST(NightlyMatrix, LongMasksBiasesAndPadding) {
  for (const std::int64_t keys : {1000, 2048}) {
    for (const Mask mask : {Mask::prefix_lm, Mask::block_diagonal, Mask::custom}) {
      EXPECT_TRUE(any([&](const Problem& p) { return p.mask == mask && p.seq_kv > keys; }))
          << name(mask) << keys;
    }
    EXPECT_TRUE(any_on_both([&](const Problem& p) {
      return p.alibi != Alibi::none && p.seq_kv > keys;
    })) << keys;
  }
  for (const std::int64_t keys : {512, 1024}) {
    for (const Padding padding : {Padding::right, Padding::left}) {
      EXPECT_TRUE(any_on_both([&](const Problem& p) {
        return p.is_padded() && p.lengths != Lengths::full && p.seq_kv > keys &&
               p.seq_kv < 2 * keys && p.padding == padding;
      })) << keys;
    }
  }
}

TEST(NightlyMatrix, ServingBatches) {
  for (const Layout layout : {Layout::ragged, Layout::paged_nhd}) {
    EXPECT_TRUE(any_on_both([&](const Problem& p) {
      return p.lengths == Lengths::serving && p.layout == layout && p.seq_kv > 512 && p.batch > 3;
    })) << name(layout);
  }
}

// ci/nightly.sh measures the invariances of these cases. `hidden_keys` fills keys that no row sees
// with NaN and with huge numbers.
TEST(NightlyMatrix, InvariancesHideKeys) {
  const Suite suite = read_bundled(PLUMBLINE_CASES "/invariances.toml");
  const auto is_on_host = [](const SuiteCase& c) { return c.device == "cpu"; };
  EXPECT_TRUE(std::ranges::any_of(suite.cases, [&](const SuiteCase& c) {
    return is_on_host(c) && c.problem.mask == Mask::custom && c.problem.seq_q == 1;
  }));
  for (const bool on_host : {true, false}) {
    EXPECT_TRUE(std::ranges::any_of(suite.cases, [&](const SuiteCase& c) {
      const Problem& p = c.problem;
      return is_on_host(c) == on_host && p.window_left >= 0 && p.seq_kv > p.seq_q + p.window_left;
    })) << on_host;
  }
}

// A run measures cases in this order, so a run that is cut off has measured the matrices.
TEST(LentGpu, MatricesComeBeforeLongCases) {
  const Suite lent = read_bundled(PLUMBLINE_CASES "/lent_gpu.toml");
  std::vector<std::string> suites;
  for (const SuiteCase& c : lent.cases) {
    if (suites.empty() || suites.back() != c.suite) suites.push_back(c.suite);
    if (c.suite == "lent_gpu") {
      EXPECT_EQ(c.device, "emulated:sm_90");
    }
  }
  EXPECT_THAT(suites, testing::ElementsAre("pr", "reach_emulated", "corners_emulated", "lent_gpu"));
}

TEST(SmokeMatrix, ViewsWindowsPagesAndSmallValues) {
  const Suite smoke = read_bundled(PLUMBLINE_CASES "/smoke.toml");
  EXPECT_TRUE(any([](const Problem& p) { return p.view == View::strided; }, smoke));
  EXPECT_TRUE(any(
      [](const Problem& p) {
        return p.window_left > 0 && p.window_left < p.seq_kv && p.lengths != Lengths::full;
      },
      smoke));
  EXPECT_TRUE(any([](const Problem& p) { return p.is_paged() && p.page_size == 32; }, smoke));
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const std::int64_t dim : {96, 128}) {
      EXPECT_TRUE(any(
          [&](const Problem& p) {
            return p.dtype == dtype && p.head_dim_vo == dim && p.v_law == VLaw::normal &&
                   p.v_scale <= 0x1p-13;
          },
          smoke))
          << name(dtype) << dim;
    }
  }
}

TEST(NightlyMatrix, Inputs) {
  EXPECT_THAT(every<Law>([](const Problem& p) { return p.law; }), IsSupersetOf(all<Law>()));
  EXPECT_THAT(every<VLaw>([](const Problem& p) { return p.v_law; }),
              IsSupersetOf({VLaw::normal, VLaw::uniform, VLaw::large_mean, VLaw::constant,
                            VLaw::grid, VLaw::tiny_output}));
}

}  // namespace
}  // namespace plumbline
