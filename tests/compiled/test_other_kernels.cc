// FlashInfer's and CUTLASS's own kernels on the emulator: schedules, barriers and waits.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/compiled/barriers.h"

namespace plumbline::compiled::test {
namespace {

struct Provider {
  const char* name;
  const char* library;
  const char* kernel;
};
void PrintTo(const Provider& provider, std::ostream* out) { *out << provider.name; }

const Loaded& load(const std::string& library, const std::string& options) {
  ::setenv("PLUMBLINE_PTX_CACHE", PLUMBLINE_COMPILED_CACHE, 0);
  static std::map<std::string, Loaded> all;
  return all.try_emplace(library + ":" + options, library, options).first->second;
}

class CompiledKernel : public ::testing::TestWithParam<Provider> {};
INSTANTIATE_TEST_SUITE_P(Providers, CompiledKernel, ::testing::Values(PLUMBLINE_COMPILED_KERNELS),
                         [](const auto& of) { return std::string(of.param.name); });

Ragged problem(int heads_q, std::vector<std::int32_t> rows, std::vector<std::int32_t> keys,
               std::uint64_t seed) {
  Ragged of;
  of.heads_q = heads_q;
  of.rows = std::move(rows);
  of.keys = std::move(keys);
  fill(of, seed);
  return of;
}

// Three orders of threads, on each kind of tensor core.
TEST_P(CompiledKernel, SameBitsInEverySchedule) {
  const Ragged of = problem(1, {150, 9}, {150, 300}, 3);
  for (const char* arch : {"sm_80", "sm_89", "sm_90", "sm_100"}) {
    const KernelResult first =
        load(GetParam().library, "schedule=in_order").run_problem(GetParam().kernel, arch, of);
    ASSERT_EQ(first.error, "") << arch;
    EXPECT_GT(first.shared_memory_bytes, 0);
    for (const char* options : {"schedule=reversed", "schedule=random,seed=5"}) {
      const KernelResult other =
          load(GetParam().library, options).run_problem(GetParam().kernel, arch, of);
      ASSERT_EQ(other.error, "") << arch << " " << options;
      EXPECT_EQ(other.out, first.out) << arch << " " << options;
      EXPECT_EQ(other.lse, first.lse) << arch << " " << options;
    }
  }
}

// FlashInfer's prefill kernel, with one warp per row of Q's tile. Three of its barriers and waits
// can be skipped here (lines of prefill.cuh):
// - 3363 and 3364, after the loop over keys. The pending copies are of the tile after the last one,
//   into buffers of K and V that are no longer read. The next step writes O to Q's buffer; each
//   warp writes only rows that it alone has read. threadblock_sync_mdo_states (2022) does nothing
//   with one warp per row.
// - 3419, the end of a loop that runs once for this head dimension: nothing follows.
#ifdef PLUMBLINE_COMPILED_FLASHINFER
TEST(CompiledFlashInfer, BarriersAndWaitsNeeded) {
  const auto unsplit = [](const std::string& options) -> const Loaded& {
    return load(PLUMBLINE_COMPILED_FLASHINFER, options + ",splits=off");
  };
  const Sites sites =
      skip_each_barrier(unsplit, "ragged_prefill", "sm_80", problem(1, {300}, {900}, 11));
  ASSERT_EQ(sites.error, "");
  EXPECT_EQ(sites.count, 9) << "barriers and waits";
  EXPECT_THAT(sites.unseen, ::testing::MatchesRegex("[0-9]+ cp_async_wait\n[0-9]+ __syncthreads\n"
                                                    "[0-9]+ __syncthreads\n"));
}
#endif

}  // namespace
}  // namespace plumbline::compiled::test
