// A GPU is a machine class of its own, independent of the host's CPU and of the GPU's ordinal.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/run/judge_runs.h"
#include "harness/run/shards.h"
#include "harness/store/machine.h"
#include "harness/store/stored.h"
#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const DeviceFacts h100{"NVIDIA H100 80GB HBM3", 85'520'809'984, "580.65.06", "13.0", "sm_90"};
const DeviceFacts a100{"NVIDIA A100-SXM4-80GB", 85'031'714'816, "580.65.06", "13.0", "sm_80"};

StoredOutcome on_gpu(const DeviceFacts& device, const std::string& arch, int ordinal = 0) {
  StoredOutcome stored = passing("bf16/b1-h4-s128-d64", "cuda/prefill");
  Outcome& o = stored.outcome;
  o.c.device = "cuda:" + std::to_string(ordinal);
  o.case_id = case_id(o.c);
  o.device = device;
  o.description.device_arch = arch;
  return stored;
}

class Machines : public test::CommandTest {
 protected:
  std::filesystem::path database() const { return directory_ / "h.db"; }
  std::unique_ptr<Store> open() const { return value_of(Store::open(database())); }
  // Adds a run; all runs have hosts of one CPU model.
  void add_run(int number, const std::vector<StoredOutcome>& outcomes) const {
    const auto store = open();
    value_of(store->begin_run(run_info(number)));
    for (const auto& outcome : outcomes) value_of(store->add(run_info(number).run_id, outcome));
    value_of(store->finish_run(run_info(number).run_id, 0, true));
  }
  static Past past_of(Store& store, const StoredOutcome& stored) {
    return value_of(store.past(series_of(stored.outcome, machine_of()), "", true));
  }
};

TEST_F(Machines, TwoGpuModelsAreTwoSeries) {
  add_run(1, {on_gpu(h100, "sm_90")});
  StoredOutcome ampere = on_gpu(a100, "sm_80");
  ampere.outcome.time_ratio = 5;
  EXPECT_FALSE(past_of(*open(), ampere).baseline) << "the other model's outcome is not its past";
  add_run(2, {ampere});
  const auto store = open();
  EXPECT_EQ(past_of(*store, ampere).baseline->run_id, run_info(2).run_id);
  EXPECT_THAT(past_of(*store, ampere).times.ratios, ElementsAre(5));
  EXPECT_EQ(past_of(*store, on_gpu(h100, "sm_90")).baseline->run_id, run_info(1).run_id);
  EXPECT_EQ(raw_sql(database(), "SELECT count(*) FROM v_latest")[0][0], "2");
  EXPECT_EQ(raw_sql(database(), "SELECT count(DISTINCT machine_class) FROM v_history")[0][0], "2");
  EXPECT_EQ(raw_sql(database(), "SELECT count(DISTINCT machine_class) FROM v_runs")[0][0], "1")
      << "of the hosts";
  EXPECT_EQ(raw_sql(database(),
                    "SELECT device_model, device_driver FROM v_history ORDER BY run_order")[0],
            (std::vector<std::string>{h100.model, h100.driver}));
}

TEST_F(Machines, SeriesIgnoresOrdinalAndDriver) {
  add_run(1, {on_gpu(h100, "sm_90", 0)});
  DeviceFacts newer = h100;
  newer.driver = "590.12";
  const StoredOutcome second = on_gpu(newer, "sm_90", 1);
  const Past past = past_of(*open(), second);
  ASSERT_TRUE(past.baseline);
  EXPECT_EQ(past.baseline->driver, h100.driver);
  EXPECT_EQ(raw_sql(database(), "SELECT count(*) FROM v_latest")[0][0], "1");
  add_run(2, {second});
  EXPECT_EQ(raw_sql(database(), "SELECT case_id FROM v_latest"),
            (std::vector<std::vector<std::string>>{{second.outcome.case_id}}));
  EXPECT_FALSE(past_of(*open(), on_gpu(h100, "sm_100")).baseline) << "the architecture is";
}

TEST_F(Machines, UnnamedGpuHasClassOfHost) {
  const StoredOutcome unnamed = on_gpu({}, "sm_90");
  EXPECT_NE(class_of(unnamed.outcome, machine_of("EPYC")),
            class_of(unnamed.outcome, machine_of("Xeon")));
  EXPECT_EQ(class_of(unnamed.outcome, machine_of()).device_kind, "cuda");
  StoredOutcome emulated = unnamed;
  emulated.outcome.c.device = "emulated:sm_90";
  EXPECT_EQ(class_of(emulated.outcome, machine_of()), machine_of()) << "computed by the host";
  EXPECT_EQ(series_id("a/b/bf16/b1-h1-s1-d64/device=cuda:12"), "a/b/bf16/b1-h1-s1-d64/device=cuda");
  EXPECT_EQ(series_id("a/b/bf16/b1-h1-s1-d64/device=emulated:sm_90"),
            "a/b/bf16/b1-h1-s1-d64/device=emulated:sm_90");
}

TEST_F(Machines, ComparingAcrossClassesExitsSix) {
  add_run(1, {on_gpu(h100, "sm_90"), passing()});
  add_run(2, {on_gpu(a100, "sm_80"), passing()});
  const auto refused = plumbline("compare latest~1 latest --db h.db");
  EXPECT_EQ(refused.code, 6) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("1 of 2 cases"), HasSubstr(h100.model),
                                  HasSubstr(a100.model), HasSubstr("--any-machine")));
  EXPECT_EQ(plumbline("compare latest~1 latest --db h.db --any-machine").code, 0);
  add_run(3, {on_gpu(a100, "sm_80", 1), passing()});
  const auto same = plumbline("compare latest~1 latest --db h.db");
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_THAT(same.text, HasSubstr("2 cases in both,")) << "cuda:0 and cuda:1 of one model";
}

// Two sets of shards on two GPU models have one night id and one plan.
class ShardsOfTwoGpus : public Machines {
 protected:
  // `device` without a name: the shard has no case on a GPU.
  void add_shard(int number, const std::string& shard, const DeviceFacts& device) {
    RunInfo run = run_info(number);
    run.night_id = "n";
    run.shard = shard;
    run.versions_json = add_shard_info("{}", {"same partition", {"suite"}});
    const auto store = open();
    value_of(store->begin_run(run));
    value_of(
        store->add(run.run_id, device.model.empty() ? passing() : on_gpu(device, device.arch)));
    value_of(store->finish_run(run.run_id, 0, true));
    runs_.push_back(run);
  }
  std::vector<ShardSet> sets() const {
    auto sets = value_of(group_shards(*open(), runs_));
    std::ranges::sort(sets, {}, &ShardSet::run_ids);
    return sets;
  }
  const std::string& id(std::size_t number) const { return runs_.at(number - 1).run_id; }
  std::vector<RunInfo> runs_;
};

TEST_F(ShardsOfTwoGpus, CompleteSetsAreDividedByGpu) {
  add_shard(1, "1/2", h100);
  add_shard(2, "1/2", a100);
  add_shard(3, "2/2", a100);
  add_shard(4, "2/2", h100);
  const auto found = sets();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].run_ids, ElementsAre(id(1), id(4)));
  EXPECT_THAT(found[1].run_ids, ElementsAre(id(2), id(3)));
}

TEST_F(ShardsOfTwoGpus, MissingShardIsNotReplacedByOtherGpu) {
  add_shard(1, "1/2", h100);
  add_shard(2, "2/2", a100);
  const auto found = sets();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].missing, ElementsAre("2/2"));
  EXPECT_THAT(found[1].missing, ElementsAre("1/2"));
}

TEST_F(ShardsOfTwoGpus, ShardWithoutGpuCasesCompletesOneSet) {
  add_shard(1, "1/2", h100);
  add_shard(2, "1/2", a100);
  add_shard(3, "2/2", {});
  const auto found = sets();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].missing.size() + found[1].missing.size(), 1U);
  add_shard(4, "2/2", {});
  for (const ShardSet& set : sets()) EXPECT_THAT(set.missing, ElementsAre());
}

TEST_F(ShardsOfTwoGpus, RepeatedShardReplacesTheFirst) {
  add_shard(1, "1/2", h100);
  add_shard(2, "2/2", h100);
  add_shard(3, "2/2", h100);
  const auto found = sets();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].run_ids, ElementsAre(id(1), id(3)));
}

// A run that was measured without its past is 20 times slower. The test stores all times itself, so
// other work on the machine cannot change them.
TEST_F(Machines, JudgedRegressionStaysUnconfirmed) {
  const auto mine = [] { return passing("bf16/b1-h4-s128-d64", "mine/flash"); };  // no contract
  for (int i = 1; i <= 6; ++i) add_run(i, {mine()});
  StoredOutcome slow = with_verdict(mine(), Verdict::first_seen);
  slow.outcome.time_ratio *= 20;
  add_run(7, {slow});
  const auto verdict = [&] {
    return raw_sql(database(), "SELECT verdict, accepted FROM v_latest");
  };
  EXPECT_EQ(verdict(), (std::vector<std::vector<std::string>>{{"first_seen", "0"}}));
  for (int i = 0; i < 2; ++i) {
    const auto judged = plumbline("judge latest --db h.db");
    EXPECT_EQ(judged.code, 5) << judged.text;
    EXPECT_THAT(judged.text,
                HasSubstr("takes 40 times the sentinel's time, 20 times slower than its usual 2"));
    EXPECT_EQ(verdict(), (std::vector<std::vector<std::string>>{{"unconfirmed", "0"}}));
  }
  EXPECT_EQ(past_of(*open(), slow).baseline->run_id, run_info(6).run_id);

  // Judged without its past, the case is neither first seen nor fine.
  shell(
      "sqlite3 h.db 'DELETE FROM outcome WHERE run_id <> (SELECT run_id FROM run ORDER BY "
      "run_order DESC LIMIT 1)'");
  EXPECT_EQ(plumbline("judge latest --db h.db").code, 5);
  EXPECT_EQ(verdict(), (std::vector<std::vector<std::string>>{{"unconfirmed", "0"}}));
  ASSERT_EQ(plumbline("baseline accept latest --who me --why 'slower, and right' --db h.db").code,
            0);
  EXPECT_EQ(verdict(), (std::vector<std::vector<std::string>>{{"unconfirmed", "1"}}));
}

}  // namespace
}  // namespace plumbline
