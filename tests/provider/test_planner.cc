// A planner gets its inputs besides the problem, and misuse of them is detected.
#include <gmock/gmock.h>

#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

class Planner : public testing::TestWithParam<const char*> {
 protected:
  Planner() {
    auto worker = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_PLANNER_PROVIDER});
    EXPECT_TRUE(worker) << to_string(worker.error());
    worker_ = std::move(*worker);
  }
  RunReply run(const std::string& kernel, Problem problem = mean_problem()) {
    PlacedCase c(*worker_, problem);
    c.request.device = GetParam();
    c.request.timed_repetitions = 1;
    RunReply reply = c.run("planner/" + kernel);
    if (reply.status == Status::ok) {
      EXPECT_LE(c.error(), 1e-5);
    }
    return reply;
  }

  std::unique_ptr<Worker> worker_;
};
bool on_host() { return std::string(Planner::GetParam()) == "cpu"; }

TEST_P(Planner, GetsIndexArrayCopies) {
  for (const Layout layout : {Layout::padded_bshd, Layout::ragged, Layout::paged_nhd}) {
    Problem p = mean_problem();
    p.layout = layout;
    p.page_size = 2;
    p.lengths = Lengths::random;
    const RunReply reply = run("reads_index_copies", p);
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_EQ(reply.workspace_fault, "");
  }
}

TEST_P(Planner, WriteToIndexCopyIsReported) {
  const RunReply reply = run("writes_to_an_index_copy");
  if (on_host()) {
    EXPECT_EQ(reply.reason, "SIGSEGV in run: write to read-only input seqlens_kv, byte 1");
  } else {
    EXPECT_EQ(reply.workspace_fault,
              "input device_seqlens_kv was written to in device memory, first at byte 1");
  }
}

TEST_P(Planner, PlanMemoryIsPoisonedAndPersists) {
  for (const char* kernel : {"keeps_memory", "asks_for_nothing"}) {
    const RunReply reply = run(kernel);
    EXPECT_EQ(reply.status, Status::ok) << kernel << ": " << reply.reason;
    EXPECT_EQ(reply.workspace_fault, "");
    EXPECT_EQ(reply.workspace_bytes, 0U) << "it is no workspace";
    EXPECT_TRUE(!on_host() || reply.peak_memory_bytes < 0 ||
                reply.peak_memory_bytes >= (std::string(kernel) == "keeps_memory" ? 1024 : 0));
  }
}

TEST_P(Planner, PlanMemoryOverrunIsReported) {
  const RunReply near = run("writes_behind_memory");
  EXPECT_EQ(near.status, Status::ok) << near.reason;
  EXPECT_EQ(near.workspace_fault,
            "1 bytes after plan memory 2 were overwritten, the nearest 8 away");
  EXPECT_EQ(run("keeps_memory").workspace_fault, "") << "the next plan has memory of its own";
  if (!on_host()) return;
  EXPECT_EQ(run("writes_far_behind_memory").reason,
            "SIGSEGV in run: write 4096 bytes after plan memory 2");
}

TEST_P(Planner, HugePlanMemoryIsOutOfMemory) {
  const RunReply reply = run("asks_for_too_much");
  EXPECT_EQ(reply.status, Status::out_of_memory);
  EXPECT_EQ(reply.reason, "no 18446744073709551615 bytes of plan memory for the whole world");
}

// The first output elements, as written by counts_calls.
class CallsOfAPlan : public Planner {
 protected:
  void SetUp() override {
    placed_ = std::make_unique<PlacedCase>(*worker_, mean_problem());
    placed_->request.device = GetParam();
    placed_->request.keep_plan = true;
  }
  RunReply first(const std::string& kernel) { return placed_->run("planner/" + kernel); }
  RunReply again(bool keep_plan, bool reversed) {
    placed_->request.keep_plan = keep_plan;
    placed_->request.threads_reversed = reversed;
    placed_->poison();
    return worker_->run_again(placed_->request);
  }
  std::vector<float> left() const {
    const auto* out = static_cast<const float*>(
        worker_->arena().data(static_cast<std::size_t>(placed_->request.out)));
    return {out, out + 4};
  }

  std::unique_ptr<PlacedCase> placed_;
};

TEST_P(CallsOfAPlan, GetPoisonedOutputsAndThreadOrder) {
  EXPECT_EQ(first("counts_calls").status, Status::ok);
  EXPECT_THAT(left(), testing::ElementsAre(1, 1, 0, 0));
  const RunReply second = again(true, true);
  EXPECT_EQ(second.status, Status::ok) << second.reason;
  EXPECT_TRUE(second.same_plan);
  EXPECT_EQ(second.workspace_fault, "");
  EXPECT_THAT(left(), testing::ElementsAre(1, 2, 1, 1)) << "the workspace is as it was left";
  EXPECT_EQ(again(false, false).status, Status::ok);
  EXPECT_THAT(left(), testing::ElementsAre(1, 3, 0, 2));
  EXPECT_FALSE(again(false, true).same_plan) << "the plan has ended: this is a new one";
  EXPECT_THAT(left(), testing::ElementsAre(1, 1, 1, 0));
}

TEST_P(CallsOfAPlan, TimedCallsUseKeptPlan) {
  EXPECT_EQ(first("counts_calls").status, Status::ok);
  placed_->request.timed_repetitions = 2;
  const RunReply timed = again(false, false);
  EXPECT_EQ(timed.status, Status::ok) << timed.reason;
  EXPECT_EQ(timed.timing.kernel_ns.size(), 2U);
  EXPECT_GT(timed.timing.plan_ns, 0);
  EXPECT_GT(left()[1], 2);
}

TEST_P(CallsOfAPlan, NextRunEndsUnusedPlan) {
  EXPECT_EQ(first("counts_calls").status, Status::ok);
  placed_->poison();
  EXPECT_EQ(first("counts_calls").status, Status::ok);
  EXPECT_EQ(left()[1], 1);
}

TEST_P(CallsOfAPlan, CrashFailsLaterCall) {
  EXPECT_EQ(first("dies_when_called_again").status, Status::ok);
  const RunReply second = again(false, true);
  EXPECT_EQ(second.status, Status::crashed);
  EXPECT_THAT(second.reason, testing::HasSubstr("SIGABRT in run"));
  placed_->poison();
  EXPECT_EQ(first("counts_calls").status, Status::ok) << "in a new process";
}

INSTANTIATE_TEST_SUITE_P(All, CallsOfAPlan, testing::Values("cpu", "cuda:0"),
                         [](const auto& tested) {
                           return std::string(tested.param) == "cpu" ? "cpu" : "cuda";
                         });
INSTANTIATE_TEST_SUITE_P(All, Planner, testing::Values("cpu", "cuda:0"), [](const auto& tested) {
  return std::string(tested.param) == "cpu" ? "cpu" : "cuda";
});

}  // namespace
}  // namespace plumbline
