// Tests which calls a case makes, which outputs are judged, and how a difference is described.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "harness/measure/calls.h"
#include "harness/measure/measurement.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

Problem small_case() {
  Problem problem;
  problem.dtype = DType::f32;
  problem.heads_q = problem.heads_kv = 2;
  problem.seq_q = 3;
  problem.seq_kv = 4;
  problem.head_dim_qk = problem.head_dim_vo = 8;
  return problem;
}

// Writes 0.25 to the whole output of every call; `change` may then modify it.
class FakeWorker : public Worker {
 public:
  explicit FakeWorker(const Geometry& geometry) : arena_(std::move(*Arena::create())) {
    request_ = *place_tensors(arena_, geometry);
  }
  Result<Hello> hello() override { return Hello{}; }
  bool refused_options() const override { return false; }
  Arena& arena() override { return arena_; }
  std::string changed_input() const override { return ""; }
  std::uint64_t process() const override { return 1; }
  std::uint64_t processes() const override { return 1; }
  bool has_running_threads() const override { return false; }
  std::string crash_between_requests() override { return ""; }
  std::string log_tail() override { return ""; }
  RunReply run(const RunRequest& request) override { return answer(request, false); }
  RunReply run_again(const RunRequest& request) override { return answer(request, true); }

  const RunRequest& placed() const { return request_; }

  // "run keep", "again reversed", "again timed"
  std::vector<std::string> asked;
  std::function<void(int call, float* out, RunReply&)> change = [](int, float*, RunReply&) {};

 private:
  RunReply answer(const RunRequest& request, bool again) {
    asked.push_back(std::string(again ? "again" : "run") + (request.keep_plan ? " keep" : "") +
                    (request.threads_reversed ? " reversed" : "") +
                    (request.timed_repetitions > 0 ? " timed" : ""));
    fill(request.out, 0.25F);
    fill(request.lse, 1.5F);
    RunReply reply;
    reply.status = Status::ok;
    reply.same_plan = again;
    if (request.timed_repetitions > 0) reply.timing.kernel_ns = reply.timing.sentinel_ns = {1.0};
    change(static_cast<int>(asked.size()), data(request.out), reply);
    return reply;
  }
  float* data(int slot) { return static_cast<float*>(arena_.data(static_cast<std::size_t>(slot))); }
  void fill(int slot, float value) {
    const std::size_t count = arena_.slot(static_cast<std::size_t>(slot)).bytes / sizeof(float);
    std::fill_n(data(slot), count, value);
  }

  Arena arena_;
  RunRequest request_;
};

class CallsOfACase : public testing::Test {
 protected:
  CallsOfACase() { calls_.request = worker_.placed(); }

  // Judges outputs by NaN only.
  void make() {
    calls_.judge = [this](const RunRequest& request, Measurement& measurement) {
      ++judged_;
      const auto slot = static_cast<std::size_t>(request.out);
      const auto* out = static_cast<const float*>(worker_.arena().data(slot));
      for (std::size_t i = 0; i < worker_.arena().slot(slot).bytes / sizeof(float); ++i)
        measurement.outcome.faults.nan += std::isnan(out[i]) ? 1 : 0;
      if (measurement.outcome.faults.total() == 0) return;
      measurement.outcome.faults.detail = "a fault";
      measurement.outcome.location.description = "no location";
      measurement.outcome.cause = "NaN";
    };
    measurement_.geometry = geometry_;
    make_calls(calls_, worker_, measurement_);
  }
  const Outcome& outcome() const { return measurement_.outcome; }

  std::shared_ptr<const Geometry> geometry_ = std::make_shared<const Geometry>(small_case());
  FakeWorker worker_{*geometry_};
  CaseCalls calls_;
  Measurement measurement_;
  int judged_ = 0;
};

TEST_F(CallsOfACase, FirstPlanTwiceThenNewPlan) {
  make();
  EXPECT_THAT(worker_.asked, ElementsAre("run keep", "again reversed", "run reversed"));
  EXPECT_EQ(outcome().calls, 3);
  EXPECT_TRUE(outcome().repeat_checked && outcome().repeat_equal);
  EXPECT_EQ(judged_, 1) << "equal bits are judged once";
}

TEST_F(CallsOfACase, TimedCallsFollowSecondCall) {
  calls_.timed_repetitions = 3;
  make();
  EXPECT_THAT(worker_.asked,
              ElementsAre("run keep", "again keep reversed", "again timed", "run reversed"));
  EXPECT_THAT(outcome().times.rounds, SizeIs(1));
}

TEST_F(CallsOfACase, LongCallsSkipThird) {
  calls_.longest_second = std::chrono::milliseconds(1);
  worker_.change = [](int, float*, RunReply&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  make();
  EXPECT_THAT(worker_.asked, SizeIs(2));
  EXPECT_EQ(outcome().calls, 2);
}

class CallsWithNaN : public CallsOfACase, public testing::WithParamInterface<int> {};

TEST_P(CallsWithNaN, FailDespitePromise) {
  worker_.change = [](int call, float* out, RunReply&) {
    if (call == GetParam()) out[8] = nan_value;
  };
  make();
  EXPECT_EQ(outcome().faults.nan, 1);
  EXPECT_FALSE(outcome().repeat_equal);
  const std::string_view name =
      GetParam() == 2 ? "the second call (the same plan again)" : "the third call (a new plan)";
  EXPECT_THAT(outcome().call_difference,
              StartsWith(std::string(name) + " gave nan where the first gave 0.25, at sample 0, "
                                             "head 1, row 0, column 0; 1 of 54 elements has"));
  EXPECT_THAT(outcome().cause, StartsWith(outcome().call_difference + "\n"))
      << "before any other cause";
  EXPECT_EQ(outcome().faults.detail, "in " + std::string(name) + ": a fault");
  EXPECT_EQ(judged_, 2);
}
INSTANTIATE_TEST_SUITE_P(Later, CallsWithNaN, testing::Values(2, 3));

TEST_F(CallsOfACase, LegalDifferencesAreJudgedAndReported) {
  worker_.change = [](int call, float* out, RunReply&) { out[0] += 0.001F * float(call); };
  make();
  EXPECT_EQ(judged_, 3);
  EXPECT_EQ(outcome().faults.total(), 0);
  EXPECT_THAT(outcome().cause, IsEmpty());
  EXPECT_THAT(outcome().call_difference, HasSubstr("at sample 0, head 0, row 0, column 0"));
}

TEST_F(CallsOfACase, UnwrittenElementIsReported) {
  worker_.change = [](int call, float* out, RunReply&) {
    if (call == 2) std::memset(out + 3, 0xFF, sizeof(float));
  };
  make();
  EXPECT_THAT(outcome().call_difference, HasSubstr("gave nothing where the first gave 0.25"));
}

TEST_F(CallsOfACase, FaultWithEqualBitsIsJudged) {
  worker_.change = [](int call, float*, RunReply& reply) {
    if (call == 3) reply.workspace_fault = "1 bytes after workspace were overwritten";
  };
  make();
  EXPECT_EQ(judged_, 2);
}

TEST_F(CallsOfACase, CrashNamesCall) {
  worker_.change = [](int call, float*, RunReply& reply) {
    if (call != 2) return;
    reply.status = Status::crashed;
    reply.reason = "SIGSEGV in run";
  };
  calls_.request.device = "emulated:sm_90";
  make();
  EXPECT_EQ(outcome().status, Status::crashed);
  EXPECT_EQ(outcome().reason,
            "in the second call (the same plan again, threads reversed): SIGSEGV in run");
}

TEST(DifferenceInWords, NamesLseAndPaddedRows) {
  Problem problem = small_case();
  problem.batch = 2;
  problem.lengths = Lengths::random;
  problem.seq_q = 9;
  const test::FilledProblem first(problem);
  test::FilledProblem later(problem);
  later.set_lse({1, 0, 0}, 7);
  EXPECT_THAT(difference_in_words(first.geometry, first.outputs(), later.outputs(), "it"),
              AllOf(StartsWith("it gave 7 where the first gave "),
                    HasSubstr("at sample 1, head 0, row 0, in the LSE; 1 of ")));
  test::FilledProblem padded(problem);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t i = 0; i < problem.seq_q; ++i) {
      if (padded.geometry.padded_row_is_valid(b, i)) continue;
      const auto at = static_cast<std::size_t>(padded.geometry.padded_out_offset(b, i, 0));
      padded.out[at * sizeof(float)] = std::byte{1};
    }
  }
  EXPECT_EQ(difference_in_words(first.geometry, first.outputs(), padded.outputs(), "it"),
            "it left other bits in padded rows than the first");
}

}  // namespace
}  // namespace plumbline
