// Tests which changes of compiled figures count as worse, better or new.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/resources/rows.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = ResourceVerdict;

std::pair<Verdict, std::string> judged(const std::function<void(ApprovedResources&)>& change) {
  ApprovedResources now = approved_row();
  change(now);
  return judge_resources(now, approved_row());
}

TEST(JudgeResources, EqualFiguresPass) {
  EXPECT_EQ(judged([](auto&) {}), std::pair(Verdict::pass, std::string()));
}

TEST(JudgeResources, UnapprovedSpillRegresses) {
  EXPECT_EQ(judged([](auto& now) { now.spill_load_bytes = 4; }),
            std::pair(Verdict::regressed, std::string("4 bytes spilled (0 approved)")));
  ApprovedResources spills = approved_row(), more = spills, less = spills;
  spills.spill_store_bytes = 8, spills.spill_load_bytes = 8;
  more.spill_store_bytes = 8, more.spill_load_bytes = 12;
  EXPECT_EQ(judge_resources(spills, spills).first, Verdict::pass);
  EXPECT_EQ(judge_resources(more, spills),
            std::pair(Verdict::regressed, std::string("20 bytes spilled (16 approved)")));
  EXPECT_EQ(judge_resources(less, spills).first, Verdict::improved);
}

TEST(JudgeResources, StackSharedMemoryAndOccupancy) {
  EXPECT_EQ(judged([](auto& now) { now.stack_bytes = 16; }).first, Verdict::regressed);
  EXPECT_EQ(judged([](auto& now) { ++now.shared_bytes; }).first, Verdict::regressed);
  EXPECT_EQ(judged([](auto& now) { now.warps = 12; }),
            std::pair(Verdict::regressed, std::string("occupancy 18.8 % (25 % approved)")));
  EXPECT_EQ(judged([](auto& now) { now.shared_bytes -= 1024; }).first, Verdict::improved);
  EXPECT_EQ(judged([](auto& now) { now.warps = 20; }).first, Verdict::improved);
}

TEST(JudgeResources, RegistersAreJudgedByOccupancy) {
  EXPECT_EQ(judged([](auto& now) { now.registers = 160; }),
            std::pair(Verdict::changed, std::string("160 registers (128 approved)")));
  EXPECT_EQ(judged([](auto& now) { now.registers = 160, now.warps = 12; }).second,
            "160 registers (128 approved); occupancy 18.8 % (25 % approved)");
  EXPECT_EQ(judged([](auto& now) { now.registers = 120; }).first, Verdict::improved);
}

TEST(JudgeResources, UnknownOccupancyAllowsRegisterSlack) {
  EXPECT_EQ(judged([](auto& now) { now.registers = 136, now.warps.reset(); }).first,
            Verdict::changed);
  EXPECT_EQ(judged([](auto& now) { now.registers = 137, now.warps.reset(); }).first,
            Verdict::regressed);
}

TEST(JudgeResources, OneWorseFigureRegresses) {
  EXPECT_EQ(judged([](auto& now) {
              now.registers = 96, now.warps = 20, now.spill_store_bytes = 4;
            }).first,
            Verdict::regressed);
}

class CompareResources : public testing::Test {
 protected:
  std::vector<Verdict> verdicts(bool strict = false, const std::vector<std::string>& archs = {}) {
    comparison_ = compare_resources(compiled_, approved_, archs, strict);
    std::vector<Verdict> all;
    for (const auto& row : comparison_.rows) all.push_back(row.verdict);
    return all;
  }
  std::vector<CompiledSource> compiled_{{"prefill",
                                         "kernels/prefill.cu",
                                         "nvcc 13.0.88",
                                         {compiled_row(), compiled_row("prefill<64>", "sm_100")}}};
  std::vector<ApprovedSource> approved_{{"prefill",
                                         "kernels/prefill.cu",
                                         "nvcc 13.0.88",
                                         {},
                                         {approved_row(), approved_row("prefill<64>", "sm_100")}}};
  ResourceComparison comparison_;
};

TEST_F(CompareResources, JudgesEachArchitectureSeparately) {
  compiled_[0].kernels[1].usage.spill_store_bytes = 8;
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::pass, Verdict::regressed));
  EXPECT_THAT(verdicts(false, {"sm_90"}), ElementsAre(Verdict::pass));
  EXPECT_THAT(comparison_.notes, IsEmpty());
}

TEST_F(CompareResources, NewAndMissingKernels) {
  compiled_[0].kernels[0].usage.kernel = "prefill<128>";
  compiled_[0].kernels[0].usage.spill_load_bytes = 8;
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::first_seen, Verdict::pass, Verdict::missing));
  EXPECT_EQ(comparison_.rows[0].why, "spills 8 bytes");
  EXPECT_EQ(comparison_.rows[2].kernel, "prefill<64>");
  EXPECT_FALSE(comparison_.rows[2].now);
}

TEST_F(CompareResources, LaunchesAreSeparateRows) {
  compiled_[0].kernels[0].launch = "head_dim 64";
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::first_seen, Verdict::pass, Verdict::missing));
}

TEST_F(CompareResources, SourceWithoutReport) {
  compiled_.clear();
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::missing, Verdict::missing));
  EXPECT_THAT(comparison_.notes, ElementsAre(HasSubstr("no report prefill.ptxas.txt")));
}

TEST_F(CompareResources, OtherToolkitIsNotComparable) {
  compiled_[0].toolkit = "nvcc 13.1.2";
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::pass, Verdict::pass));
  compiled_[0].kernels[0].usage.spill_store_bytes = 8;
  EXPECT_THAT(verdicts(), ElementsAre(Verdict::not_comparable, Verdict::pass));
  EXPECT_THAT(comparison_.notes,
              ElementsAre(HasSubstr("compiled by nvcc 13.1.2, but approved with nvcc 13.0.88")));
  EXPECT_THAT(verdicts(true), ElementsAre(Verdict::regressed, Verdict::pass));
}

TEST_F(CompareResources, OtherToolkitMayDropArchitecture) {
  compiled_[0].toolkit = "nvcc 14.0.1";
  approved_[0].kernels.push_back(approved_row("prefill<64>", "sm_75"));
  approved_[0].kernels.push_back(approved_row("prefill<256>", "sm_90"));
  EXPECT_THAT(verdicts(),
              ElementsAre(Verdict::pass, Verdict::pass, Verdict::not_comparable, Verdict::missing));
}

}  // namespace
}  // namespace plumbline
