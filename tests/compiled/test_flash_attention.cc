// FlashAttention-2's own kernels on the emulator, bit for bit.
#include <gmock/gmock.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/compiled/barriers.h"
#include "tests/compiled/scalar_flash_attention.h"

namespace plumbline::compiled::test {
namespace {

using emulator::Arch;
using testing::HasSubstr;

const Loaded& flash_attention(const std::string& options) {
  ::setenv("PLUMBLINE_PTX_CACHE", PLUMBLINE_COMPILED_CACHE, 0);
  static std::map<std::string, Loaded> all;
  return all.try_emplace(options, PLUMBLINE_FLASH_ATTENTION, options).first->second;
}

Ragged one_sample(int heads_q, int heads_kv, int rows, int keys, bool causal, std::uint64_t seed) {
  Ragged of;
  of.heads_q = heads_q;
  of.heads_kv = heads_kv;
  of.rows = {rows};
  of.keys = {keys};
  of.mask = causal ? PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT : PLUMBLINE_MASK_NONE;
  fill(of, seed);
  return of;
}

// Twenty problems: lengths at, below and above tile sizes, more keys than queries, masks and
// groups.
TEST(CompiledFlashAttention, MatchesScalarBitForBit) {
  struct Size {
    int heads_q, heads_kv, rows, keys;
  };
  constexpr Size sizes[] = {{1, 1, 128, 128}, {2, 1, 127, 127}, {1, 1, 129, 129}, {1, 1, 1, 300},
                            {2, 2, 16, 144},  {1, 1, 64, 256},  {4, 2, 33, 65},   {1, 1, 128, 257},
                            {1, 1, 200, 200}, {3, 1, 5, 5}};
  for (const Arch arch : {Arch::sm_80, Arch::sm_89, Arch::sm_90, Arch::sm_100}) {
    std::uint64_t seed = 1;
    for (const Size& size : sizes) {
      for (const bool causal : {false, true}) {
        const Ragged of =
            one_sample(size.heads_q, size.heads_kv, size.rows, size.keys, causal, seed++);
        const KernelResult compiled =
            flash_attention("").run_problem("forward", std::string(emulator::name(arch)), of);
        ASSERT_EQ(compiled.error, "");
        const ScalarOutputs scalar =
            scalar_flash_attention(arch,
                                   {size.heads_q, size.heads_kv, size.rows, size.keys, causal,
                                    static_cast<float>(of.scale)},
                                   {of.q, of.k, of.v});
        SCOPED_TRACE(testing::Message() << emulator::name(arch) << " " << size.rows << " x "
                                        << size.keys << (causal ? " causal" : ""));
        EXPECT_EQ(compiled.out, scalar.out);
        ASSERT_EQ(compiled.lse.size(), scalar.lse.size());
        for (std::size_t i = 0; i < scalar.lse.size(); ++i)
          EXPECT_EQ(std::bit_cast<std::uint32_t>(compiled.lse[i]),
                    std::bit_cast<std::uint32_t>(scalar.lse[i]))
              << "LSE " << i;
      }
    }
  }
}

TEST(CompiledFlashAttention, SamplesMatchSeparateRuns) {
  Ragged all;
  all.heads_q = 2;
  all.heads_kv = 1;
  all.rows = {70, 1, 130};
  all.keys = {70, 90, 200};
  all.mask = PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT;
  fill(all, 7);
  const KernelResult together = flash_attention("").run_problem("forward", "sm_80", all);
  ASSERT_EQ(together.error, "");
  std::size_t row = 0, key = 0;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    Ragged one = all;
    one.rows = {all.rows[i]};
    one.keys = {all.keys[i]};
    const auto part = [&](const std::vector<std::uint16_t>& from, std::size_t begin, int tokens,
                          std::int64_t heads) {
      const std::size_t token = static_cast<std::size_t>(heads * one.head_dim);
      const auto at = from.begin() + static_cast<std::ptrdiff_t>(begin * token);
      return std::vector<std::uint16_t>(
          at, at + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(tokens) * token));
    };
    one.q = part(all.q, row, all.rows[i], 2);
    one.k = part(all.k, key, all.keys[i], 1);
    one.v = part(all.v, key, all.keys[i], 1);
    const KernelResult alone = flash_attention("").run_problem("forward", "sm_80", one);
    EXPECT_EQ(alone.out, part(together.out, row, all.rows[i], 2)) << "sample " << i;
    row += static_cast<std::size_t>(all.rows[i]);
    key += static_cast<std::size_t>(all.keys[i]);
  }
}

TEST(CompiledFlashAttention, SameBitsInEverySchedule) {
  const Ragged of = one_sample(2, 2, 150, 150, true, 3);
  const KernelResult first =
      flash_attention("schedule=in_order").run_problem("forward", "sm_90", of);
  ASSERT_EQ(first.error, "");
  for (const char* options :
       {"schedule=reversed", "schedule=random,seed=5", "schedule=reversed,lanes=independent"}) {
    const KernelResult other = flash_attention(options).run_problem("forward", "sm_90", of);
    ASSERT_EQ(other.error, "") << options;
    EXPECT_EQ(other.out, first.out) << options;
    EXPECT_EQ(other.lse, first.lse) << options;
  }
}

TEST(CompiledFlashAttention, EachBarrierAndWaitIsNeeded) {
  const Sites sites =
      skip_each_barrier(flash_attention, "forward", "sm_80", one_sample(1, 1, 200, 300, true, 11));
  ASSERT_EQ(sites.error, "");
  EXPECT_GT(sites.count, 8) << "barriers and waits";
  EXPECT_EQ(sites.unseen, "");
}

// The kernel expects 300 keys, but there are 299. The error names the read by its source line.
TEST(CompiledFlashAttention, ReadAfterLastKeyIsReported) {
  Ragged of = one_sample(1, 1, 64, 300, false, 12);
  of.k.resize(of.k.size() - 64);
  const KernelResult answer = flash_attention("").run_problem("forward", "sm_80", of);
  EXPECT_THAT(
      answer.error,
      testing::AllOf(HasSubstr("flash_fwd_kernel"), HasSubstr("allocation"),
                     testing::ContainsRegex(R"(\.ptx:[0-9]+ \([a-z_0-9]+\.h(pp)?:[0-9]+\))")));
}

// 128 rows of Q, 128 keys of K and of V, two bytes each (flash_fwd_launch_template.h, line 188).
TEST(CompiledFlashAttention, ReportsSharedMemory) {
  for (const bool causal : {false, true})
    EXPECT_EQ(flash_attention("")
                  .run_problem("forward", "sm_80", one_sample(1, 1, 8, 8, causal, 1))
                  .shared_memory_bytes,
              (128 + 128 + 128) * 64 * 2);
}

TEST(CompiledFlashAttention, RefusesWithReason) {
  Ragged of = one_sample(1, 1, 8, 8, false, 1);
  of.mask = PLUMBLINE_MASK_CAUSAL_TOP_LEFT;
  EXPECT_THAT(flash_attention("").run_problem("forward", "sm_80", of).error,
              HasSubstr("aligns its causal mask bottom right"));
  of.mask = PLUMBLINE_MASK_NONE;
  of.head_dim = 96;
  EXPECT_THAT(flash_attention("").run_problem("forward", "sm_80", of).error,
              HasSubstr("PLUMBLINE_FLASH_ATTENTION_FILES"));
  of.head_dim = 64;
  EXPECT_THAT(flash_attention("").run_problem("forward", "sm_75", of).error,
              HasSubstr("sm_80, sm_86"));
  EXPECT_THAT(flash_attention("lanes=some").run_problem("forward", "sm_80", of).error,
              HasSubstr("expected lockstep or independent"));
}

}  // namespace
}  // namespace plumbline::compiled::test
