// What a planner is given besides the problem is there, and what it does wrong with it is found.
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

 private:
  std::unique_ptr<Worker> worker_;
};
bool on_host() { return std::string(Planner::GetParam()) == "cpu"; }

TEST_P(Planner, HasCopiesOfTheIndexArrays) {
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

TEST_P(Planner, MayNotWriteToThem) {
  const RunReply reply = run("writes_to_an_index_copy");
  if (on_host()) {
    EXPECT_EQ(reply.reason, "SIGSEGV in run: write to read-only input seqlens_kv, byte 1");
  } else {
    EXPECT_EQ(reply.workspace_fault,
              "input device_seqlens_kv was written to in device memory, first at byte 1");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Planner, testing::Values("cpu", "cuda:0"), [](const auto& tested) {
  return std::string(tested.param) == "cpu" ? "cpu" : "cuda";
});

}  // namespace
}  // namespace plumbline
