// Counts the references that shards compute together, compared with one run of the full plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>

#include "harness/contract/reviewed_text.h"
#include "harness/measure/measurement.h"
#include "harness/measure/providers.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/run/runner.h"
#include "harness/run/shards.h"

namespace plumbline {
namespace {

const std::filesystem::path build = PLUMBLINE_BINARY_DIRECTORY;

MeasureOptions with_our_kernels() {
  MeasureOptions options;
  for (const char* provider : {"plumbline_cpu.so", "plumbline_emulated.so"})
    options.providers.push_back((build / "lib" / "plumbline" / provider).string());
  options.worker_executable = build / "bin" / "plumbline-worker";
  options.references_computed = std::make_shared<std::atomic<std::int64_t>>(0);
  return options;
}

Plan plan_of(const std::string& suite_name, const std::vector<ProviderInfo>& providers) {
  const auto suite = read_suite(std::filesystem::path(PLUMBLINE_CASES) / suite_name);
  EXPECT_TRUE(suite) << to_string(suite.error());
  auto plan = make_plan({*suite}, offered_kernels(providers), {}, run_environment(providers));
  EXPECT_TRUE(plan) << to_string(plan.error());
  return *plan;
}

TEST(References, PlannedShardsAddFewReferences) {
  const MeasureOptions options = with_our_kernels();
  const auto providers = discover(options);
  ASSERT_TRUE(providers);
  const Plan whole = plan_of("pr.toml", *providers);
  ASSERT_GE(references_of(whole), 100U);
  for (const int shards : {4, 20}) {
    const Partition partition = partition_of(whole, shards, {}, 10);
    std::size_t references = 0;
    for (int shard = 1; shard <= shards; ++shard)
      references += references_of(part_of(whole, partition, shard));
    EXPECT_LE(static_cast<double>(references), 1.1 * static_cast<double>(references_of(whole)));
    RecordProperty("references_of_" + std::to_string(shards), static_cast<int>(references));
  }
}

std::int64_t computed(const Plan& plan, const MeasureOptions& options,
                      const std::vector<ProviderInfo>& providers, const Contracts& contracts) {
  *options.references_computed = 0;
  const Runner runner{options, providers, contracts, 2, nullptr, {}};
  runner.run(plan, {[](Outcome) {}, [](DiffOutcome) {}, [] {}, nullptr, nullptr});
  return *options.references_computed;
}

TEST(References, MeasuredShardsAddFewReferences) {
  const MeasureOptions options = with_our_kernels();
  const auto providers = discover(options);
  ASSERT_TRUE(providers);
  const auto contracts = Contracts::read(std::filesystem::path(PLUMBLINE_SOURCE_DIRECTORY) /
                                         "baselines" / "contracts.toml");
  ASSERT_TRUE(contracts);
  const Plan whole = plan_of("smoke.toml", *providers);
  const std::int64_t of_whole = computed(whole, options, *providers, *contracts);
  EXPECT_GE(of_whole, static_cast<std::int64_t>(references_of(whole)) / 2);
  const int shards = 20;
  const Partition partition = partition_of(whole, shards, {}, 10);
  std::int64_t of_shards = 0;
  for (int shard = 1; shard <= shards; ++shard)
    of_shards += computed(part_of(whole, partition, shard), options, *providers, *contracts);
  EXPECT_LE(static_cast<double>(of_shards), 1.1 * static_cast<double>(of_whole));
  RecordProperty("whole", static_cast<int>(of_whole));
  RecordProperty("shards", static_cast<int>(of_shards));
}

}  // namespace
}  // namespace plumbline
