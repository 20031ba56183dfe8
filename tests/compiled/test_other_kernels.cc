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

class CompiledKernel : public ::testing::TestWithParam<Provider> {
 protected:
  void SetUp() override { ::setenv("PLUMBLINE_PTX_CACHE", PLUMBLINE_COMPILED_CACHE, 0); }
  static const Loaded& load(const std::string& options) {
    static std::map<std::string, Loaded> all;
    const std::string library = GetParam().library;
    return all.try_emplace(library + ":" + options, library, options).first->second;
  }
};
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

// Three orders of the threads, on each kind of tensor core.
TEST_P(CompiledKernel, HasTheSameBitsInEverySchedule) {
  const Ragged of = problem(1, {150, 9}, {150, 300}, 3);
  for (const char* arch : {"sm_80", "sm_89", "sm_90", "sm_100"}) {
    const Answer first = load("schedule=in_order").ask(GetParam().kernel, arch, of);
    ASSERT_EQ(first.error, "") << arch;
    for (const char* options : {"schedule=reversed", "schedule=random,seed=5"}) {
      const Answer other = load(options).ask(GetParam().kernel, arch, of);
      ASSERT_EQ(other.error, "") << arch << " " << options;
      EXPECT_EQ(other.out, first.out) << arch << " " << options;
      EXPECT_EQ(other.lse, first.lse) << arch << " " << options;
    }
  }
}

TEST_P(CompiledKernel, NeedsEachOfItsBarriersAndWaits) {
  const Sites sites =
      leave_out_each(load, GetParam().kernel, "sm_80", problem(1, {200}, {300}, 11));
  ASSERT_EQ(sites.error, "");
  EXPECT_GT(sites.count, 3) << "barriers and waits";
  EXPECT_EQ(sites.unseen, "");
}

}  // namespace
}  // namespace plumbline::compiled::test
