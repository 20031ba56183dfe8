// An outcome is reused from another architecture only if a second architecture gave the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/contract.h"
#include "harness/measure/reuse.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PlannedCase planned_on(const std::string& device, const std::string& tensor_cores = "off") {
  PlannedCase planned;
  planned.suite = "pr of " + device;
  planned.group = "g";
  planned.tier = Tier::pr;
  planned.c = {"emulated/prefill_simt", device, Problem{}};
  planned.case_id = case_id(planned.c);
  planned.tensor_cores = tensor_cores;
  return planned;
}

Outcome measured(const PlannedCase& planned, const std::string& digest) {
  Outcome outcome;
  outcome.suite = planned.suite;
  outcome.c = planned.c;
  outcome.case_id = planned.case_id;
  outcome.status = Status::ok;
  outcome.description.tensor_cores = planned.tensor_cores;
  outcome.errors.peak = 3.5;
  outcome.output_digest = digest;
  outcome.repeat_checked = outcome.repeat_equal = true;
  outcome.spec_judged = spec_text(Contracts{}.pinned_spec(planned.c.kernel, planned.c.problem));
  outcome.wall_ms = 12;
  outcome.peak_memory_bytes = 5;
  outcome.saved_to = "file";
  return outcome;
}

class Reuse : public testing::Test {
 protected:
  Outcome add(const PlannedCase& planned, const std::string& digest) {
    Outcome outcome = measured(planned, digest);
    reuse_.add(planned, outcome);
    return outcome;
  }
  Contracts contracts_;
  ArchReuse reuse_{contracts_};
};

TEST_F(Reuse, ThirdArchitectureReusesFirstOutcome) {
  PlannedCase third = planned_on("emulated:sm_90");
  third.expected = ExpectedFailure{"https://example.com/7", "2027-01-31", "r", "s.toml", 3};
  EXPECT_FALSE(reuse_.reused(third));
  EXPECT_EQ(add(planned_on("emulated:sm_80"), "d1").status, Status::ok);
  EXPECT_FALSE(reuse_.reused(third)) << "one more has to agree first";
  EXPECT_EQ(add(planned_on("emulated:sm_89"), "d1").status, Status::ok);
  const auto reused = reuse_.reused(third);
  ASSERT_TRUE(reused);
  EXPECT_EQ(reused->case_id, third.case_id);
  EXPECT_EQ(reused->c.device, "emulated:sm_90");
  EXPECT_EQ(arch_of(*reused), "sm_90");
  EXPECT_EQ(reused->suite, "pr of emulated:sm_90");
  EXPECT_EQ(reused->tier, "pr");
  EXPECT_EQ(reused->expected, third.expected);  // the third case's own
  EXPECT_EQ(reused->reused_from, planned_on("emulated:sm_80").case_id);
  EXPECT_EQ(reused->errors.peak, 3.5);
  EXPECT_EQ(reused->output_digest, "d1");
  EXPECT_EQ(reused->wall_ms, 0);
  EXPECT_EQ(reused->peak_memory_bytes, -1);
  EXPECT_EQ(reused->saved_to, "");
}

TEST_F(Reuse, DifferentBitsFailAndNameBoth) {
  add(planned_on("emulated:sm_80"), "d1");
  const Outcome second = add(planned_on("emulated:sm_90"), "d2");
  EXPECT_EQ(second.status, Status::error);
  EXPECT_THAT(second.reason, AllOf(HasSubstr("emulated:sm_90"), HasSubstr("emulated:sm_80"),
                                   HasSubstr("d1"), HasSubstr("d2")));
  EXPECT_FALSE(reuse_.reused(planned_on("emulated:sm_100")));
  // each is compared with the first
  EXPECT_EQ(add(planned_on("emulated:sm_100"), "d1").status, Status::ok);
}

TEST_F(Reuse, SkipsTensorCoresAndTimedCases) {
  for (const char* mode : {"on", "none"}) {
    add(planned_on("emulated:sm_80", mode), "d1");
    EXPECT_EQ(add(planned_on("emulated:sm_90", mode), "d2").status, Status::ok);
    EXPECT_FALSE(reuse_.reused(planned_on("emulated:sm_100", mode)));
  }
  add(planned_on("emulated:sm_80"), "d1");
  add(planned_on("emulated:sm_89"), "d1");
  PlannedCase timed = planned_on("emulated:sm_90");
  timed.timed = true;
  EXPECT_FALSE(reuse_.reused(timed));
  EXPECT_FALSE(reuse_.reused(planned_on("cuda:0")));
  PlannedCase other = planned_on("emulated:sm_90");
  other.c.kernel = "emulated/decode_simt";
  EXPECT_FALSE(reuse_.reused(other));
}

// A failed run proves nothing, nor do bits that change from run to run, which is a failure of its
// own.
TEST_F(Reuse, IgnoresFailedAndUnstableRuns) {
  Outcome unsupported = measured(planned_on("emulated:sm_80"), "");
  unsupported.status = Status::unsupported;
  reuse_.add(planned_on("emulated:sm_80"), unsupported);
  Outcome unstable = measured(planned_on("emulated:sm_86"), "d0");
  unstable.repeat_equal = false;
  reuse_.add(planned_on("emulated:sm_86"), unstable);
  add(planned_on("emulated:sm_89"), "d1");
  add(planned_on("emulated:sm_89"), "d1");  // in another suite
  EXPECT_FALSE(reuse_.reused(planned_on("emulated:sm_90")));
  add(planned_on("emulated:sm_90"), "d1");
  EXPECT_EQ(reuse_.reused(planned_on("emulated:sm_100"))->reused_from,
            planned_on("emulated:sm_89").case_id);
}

TEST_F(Reuse, DifferentContractIsMeasured) {
  Contract hopper;
  hopper.kernels = {"emulated/*"};
  hopper.archs = {"sm_90"};
  contracts_.contracts.push_back(hopper);
  add(planned_on("emulated:sm_80"), "d1");
  add(planned_on("emulated:sm_89"), "d1");
  EXPECT_FALSE(reuse_.reused(planned_on("emulated:sm_90")));
  EXPECT_TRUE(reuse_.reused(planned_on("emulated:sm_100")));
}

}  // namespace
}  // namespace plumbline
