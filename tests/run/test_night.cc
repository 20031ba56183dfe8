// Alerts of a night are grouped by kernel, dtype, architecture and range of commits; the worst case
// comes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "harness/run/night.h"

namespace plumbline {
namespace {

class AlertGroups : public testing::Test {
 protected:
  AlertGroups() {
    run_.run_id = "r";
    run_.machine.arch = "x86-64-v3";
    run_.commit = "bbb";
  }

  void add(const std::string& kernel, DType dtype, Verdict verdict, double percent,
           const std::string& since = "aaa") {
    StoredOutcome& stored = stored_.emplace_back();
    stored.outcome.c.kernel = kernel;
    stored.outcome.c.problem.dtype = dtype;
    stored.outcome.case_id = kernel + "/" + std::to_string(stored_.size());
    stored.judgement.verdict = verdict;
    stored.judgement.percent_of_limit = percent;
    inputs_.push_back({&run_, &stored, "cpu", since, true});
  }

  RunInfo run_;
  std::deque<StoredOutcome> stored_;
  std::vector<AlertInput> inputs_;
};

TEST_F(AlertGroups, WorstAlertFirstOpenGroupsLast) {
  add("cpu/flash", DType::bf16, Verdict::unconfirmed, 500);
  add("cpu/flash", DType::f16, Verdict::regressed, 120);
  add("cpu/flash", DType::f16, Verdict::regressed, 180);
  add("cpu/flash", DType::f16, Verdict::regressed, 150, "ccc");
  add("cpu/split_kv", DType::f16, Verdict::regressed, 900);
  const auto groups = group_alerts(inputs_);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].kernel, "cpu/flash");
  EXPECT_EQ(groups[0].since, "aaa");
  EXPECT_EQ(groups[0].commit, "bbb");
  EXPECT_EQ(groups[0].arch, "x86-64-v3");
  ASSERT_EQ(groups[0].alerts.size(), 2U);
  EXPECT_EQ(groups[0].alerts[0].case_id, "cpu/flash/3") << "the lead";
  EXPECT_EQ(groups[3].verdict, Verdict::unconfirmed);
}

}  // namespace
}  // namespace plumbline
