// One case without its past: status, support, spec, policy, faults, limits, promises.
#include <random>

#include "harness/outcome/statistics_table.h"
#include "tests/judge/files.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Contracts contract_of_mine(Contract contract) {
  contract.kernels = {"mine/*"};
  Contracts contracts;
  contracts.contracts.push_back(std::move(contract));
  return contracts;
}

TEST(JudgeCase, PlainPassHasNoFindings) {
  const Judgement judgement = judge_with_past(passing());
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_THAT(judgement.notes, IsEmpty());
  EXPECT_EQ(judgement.percent_of_limit, 50);  // peak: 3.25 of 6.5
  EXPECT_EQ(judgement.nearest_statistic, "peak");
}

TEST(JudgeCase, FirstSeenIfNoPast) {
  const Outcome outcome = passing();
  EXPECT_EQ(judge({.outcome = &outcome}).verdict, Verdict::first_seen);
  Outcome bad = passing();
  bad.errors.peak = 7;
  EXPECT_EQ(judge({.outcome = &bad}).verdict, Verdict::fail);
}

struct Limited {
  std::string name;
  double limit;
  double ErrorStatistics::*member = find_statistic(name)->value;
};
const Limited limited[] = {{"peak", 6.5},    {"beyond output rounding", 6.5},
                           {"rms", 1.35},    {"lse", 6},
                           {"max_logit", 6}, {"rows without a reference", 19.5}};
static_assert(std::size(limited) == deciding_count, "a statistic that decides has no row here");

TEST(JudgeCase, LimitPassesAndNextNumberFails) {
  for (const Limited& statistic : limited) {
    Outcome outcome = passing();
    outcome.errors.*statistic.member = statistic.limit;
    Judgement judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, Verdict::pass) << statistic.name;
    EXPECT_EQ(judgement.percent_of_limit, 100) << statistic.name;
    EXPECT_EQ(judgement.nearest_statistic, statistic.name);

    outcome.errors.*statistic.member = std::nextafter(statistic.limit, infinity);
    judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, Verdict::fail) << statistic.name;
    ASSERT_THAT(statistics(judgement), ElementsAre(statistic.name));
    EXPECT_EQ(judgement.findings[0].limit, statistic.limit);
  }
}

TEST(JudgeCase, NanAndInfinityFailEverywhere) {
  for (const Limited& statistic : limited) {
    for (const double value : {nan_value, infinity}) {
      Outcome outcome = passing();
      outcome.errors.*statistic.member = value;
      const Judgement judgement = judge_with_past(outcome);
      EXPECT_EQ(judgement.verdict, Verdict::fail) << statistic.name << " " << value;
      EXPECT_EQ(judgement.percent_of_limit, infinity) << statistic.name << " " << value;
      EXPECT_EQ(judgement.nearest_statistic, statistic.name);
      EXPECT_THAT(statistics(judgement), ElementsAre(statistic.name));
    }
  }
}

TEST(JudgeCase, NamesWorstElement) {
  Outcome outcome = passing();
  outcome.errors.peak = 9;
  outcome.worst_statistic = "peak";
  outcome.worst = WorstElement{{1, 2, 3, 4}, 0.5, 0.25, 0.027, 0.001, {}, 64};
  const Judgement judgement = judge_with_past(outcome);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].text,
            "peak is 9, its limit 6.5: got 0.5, expected 0.25, sigma 0.027 at sample 1 head 2 row "
            "3 column 4 (64 visible keys)");
}

TEST(JudgeCase, ManyElementsRaisePeakLimit) {
  Outcome outcome = passing();
  outcome.errors.peak = 6.8;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::fail);
  outcome.errors.elements = 100'000'000;  // limit 6.85
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
}

TEST(JudgeCase, NothingComparedIsMistrusted) {
  Outcome outcome = passing();
  outcome.errors = {};
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::mistrusted);
  EXPECT_THAT(judgement.findings.at(0).text, HasSubstr("nothing was compared"));
  // the problem has rows, whatever the outcome says
  outcome.rows_total = outcome.reference_rows = 0;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::mistrusted);
}

TEST(JudgeCase, NoVisibleKeyPassesWithNote) {
  Outcome outcome = passing();
  outcome.c.problem.lengths = Lengths::with_zero;  // one sample, without keys
  outcome.errors = {};
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes, ElementsAre(HasSubstr("no row sees a key")));
  outcome.faults.empty_rows = 1;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::fail);
}

TEST(JudgeCase, EachFaultFails) {
  struct Kind {
    std::string name;
    std::int64_t Faults::*count;
  };
  const Kind kinds[] = {{"nan", &Faults::nan},
                        {"inf", &Faults::inf},
                        {"unwritten", &Faults::unwritten},
                        {"out_of_range", &Faults::out_of_range},
                        {"padded_rows", &Faults::padded_rows},
                        {"empty_rows", &Faults::empty_rows},
                        {"inexact", &Faults::inexact},
                        {"fence", &Faults::fence_bytes}};
  Outcome all = passing();
  for (const Kind& kind : kinds) {
    Outcome outcome = passing();
    outcome.faults.*kind.count = all.faults.*kind.count = 3;
    outcome.faults.detail = "the first one";
    const Judgement judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, Verdict::fail) << kind.name;
    ASSERT_THAT(statistics(judgement), ElementsAre(kind.name));
    EXPECT_EQ(judgement.findings[0].value, 3);
    EXPECT_THAT(judgement.findings[0].text,
                testing::AllOf(HasSubstr("3 "), HasSubstr("the first one")));
  }
  EXPECT_EQ(judge_with_past(all).findings.size(), std::size(kinds));
}

TEST(JudgeCase, StatusDeterminesVerdict) {
  const std::pair<Status, Verdict> ends[] = {{Status::crashed, Verdict::crashed},
                                             {Status::timeout, Verdict::timeout},
                                             {Status::out_of_memory, Verdict::out_of_memory},
                                             {Status::error, Verdict::error}};
  for (const auto& [status, verdict] : ends) {
    Outcome outcome = passing();
    outcome.status = status;
    outcome.reason = "signal 11";
    const Judgement judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, verdict);
    ASSERT_THAT(statistics(judgement), ElementsAre("status"));
    EXPECT_EQ(judgement.findings[0].text, "signal 11");
  }
}

SupportTable refuses_bf16() {
  SupportTable table;
  table.entries.push_back(
      {{"mine/*"}, {}, {}, {{"dtype", {"bf16"}}}, "takes no bf16", "support.toml", 1});
  return table;
}

TEST(JudgeCase, RefusalNeedsSupportEntry) {
  const SupportTable refuses = refuses_bf16(), unknown;
  SupportTable accepts;
  accepts.entries.push_back(
      {{"mine/*"}, {}, {}, {{"dtype", {"fp32"}}}, "takes no fp32", "support.toml", 1});
  Outcome refused = passing();
  refused.status = Status::unsupported;
  refused.reason = "no bf16";
  EXPECT_EQ(judge_with_past(refused, nullptr, &refuses).verdict, Verdict::unsupported);
  EXPECT_THAT(judge_with_past(refused, nullptr, &refuses).notes,
              ElementsAre("unsupported: no bf16"));
  EXPECT_EQ(judge_with_past(refused).verdict, Verdict::unsupported);  // support is not judged
  // no reviewed text covers the kernel
  EXPECT_EQ(judge_with_past(refused, nullptr, &unknown).verdict, Verdict::unsupported);
  const Judgement mismatch = judge_with_past(refused, nullptr, &accepts);
  EXPECT_EQ(mismatch.verdict, Verdict::support_mismatch);
  EXPECT_THAT(mismatch.findings.at(0).text, HasSubstr("no bf16"));

  EXPECT_EQ(judge_with_past(passing(), nullptr, &accepts).verdict, Verdict::pass);
  EXPECT_EQ(judge_with_past(passing(), nullptr, &refuses).verdict, Verdict::support_mismatch);
}

TEST(JudgeCase, CrashBeatsSupportTable) {
  const SupportTable refuses = refuses_bf16();
  Outcome crashed = passing();
  crashed.status = Status::crashed;
  const Judgement judgement = judge_with_past(crashed, nullptr, &refuses);
  EXPECT_EQ(judgement.verdict, Verdict::crashed);
  EXPECT_THAT(judgement.notes, ElementsAre(HasSubstr("takes no bf16")));
}

TEST(JudgeCase, FailureBeatsSupportTable) {
  const SupportTable refuses = refuses_bf16();
  Outcome outcome = passing();
  outcome.errors.peak = 7;
  const Judgement judgement = judge_with_past(outcome, nullptr, &refuses);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(statistics(judgement), ElementsAre("support", "peak"));
}

TEST(JudgeCase, LooserSpecFails) {
  Outcome outcome = passing();
  outcome.description.spec.s_rounded = DType::bf16;
  outcome.description.spec.denominator_from_rounded_p = true;
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  ASSERT_THAT(statistics(judgement), ElementsAre("spec"));
  EXPECT_THAT(judgement.findings[0].text,
              testing::AllOf(HasSubstr("spec is looser than its contract"), HasSubstr("s_rounded"),
                             HasSubstr("denominator_from_rounded_p")));
}

TEST(JudgeCase, ContractAllowsPinnedSpec) {
  Contract contract;
  contract.spec_fields = {{"s_rounded", "input"}};
  const Contracts contracts = contract_of_mine(contract);
  Outcome outcome = passing();
  outcome.description.spec.s_rounded = DType::bf16;
  outcome.spec_judged = spec_text(outcome.description.spec);
  outcome.widening = 24;
  outcome.errors.peak = 7.5;  // the naive tier's limit is 8
  const Judgement judgement = judge_with_past(outcome, &contracts);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes,
              ElementsAre("sigma is 24 times that of the strict spec (s_rounded=bf16)"));
}

TEST(JudgeCase, SigmaOfAnotherSpecIsMistrusted) {
  Contract contract;
  contract.spec_fields = {{"denominator_from_rounded_p", "true"}};
  const Contracts contracts = contract_of_mine(contract);
  // measured when the strict spec was pinned
  const Judgement judgement = judge_with_past(passing(), &contracts);
  EXPECT_EQ(judgement.verdict, Verdict::mistrusted);
  EXPECT_THAT(statistics(judgement), ElementsAre("contract"));
  Outcome older = passing();
  const std::size_t newest = older.spec_judged.rfind(" lse_without_row_bias=");
  ASSERT_NE(newest, std::string::npos);
  older.spec_judged.erase(newest);
  EXPECT_EQ(judge_with_past(older).verdict, Verdict::pass) << "a text without the newest field";
  Outcome unrecorded = passing();
  unrecorded.spec_judged = "";
  EXPECT_EQ(judge_with_past(unrecorded, &contracts).verdict, Verdict::pass);
}

TEST(JudgeCase, UnreadableSpecIsMistrusted) {
  for (const std::string& text :
       {std::string("unreadable"), passing().spec_judged + " newer_field=1"}) {
    Outcome outcome = passing();
    outcome.spec_judged = text;
    const Judgement judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, Verdict::mistrusted) << text;
    EXPECT_THAT(statistics(judgement), ElementsAre("contract")) << text;
  }
}

TEST(JudgeCase, NoteStatesWiderSigma) {
  Outcome outcome = passing();
  outcome.errors.peak = 7;
  EXPECT_THAT(judge_with_past(outcome).notes, testing::IsEmpty())
      << "nothing is said of a sigma that is the strict spec's";
  outcome.widening = 1.5;
  EXPECT_THAT(judge_with_past(outcome).notes,
              ElementsAre("sigma is 1.5 times that of the strict spec (strict)"));
}

TEST(JudgeCase, ContractLimitsApply) {
  Contract contract;
  contract.limits[&Limits::peak] = 3;
  const Contracts tight = contract_of_mine(contract);
  EXPECT_EQ(judge_with_past(passing(), &tight).verdict, Verdict::fail);
  contract.limits[&Limits::peak] = 9;
  Outcome outcome = passing();
  outcome.errors.peak = 7;
  const Contracts loose = contract_of_mine(contract);
  // without a proof a limit only tightens
  EXPECT_EQ(judge_with_past(outcome, &loose).verdict, Verdict::fail);
  contract.proof = "measured";
  const Contracts proven = contract_of_mine(contract);
  EXPECT_EQ(judge_with_past(outcome, &proven).verdict, Verdict::pass);
}

TEST(JudgeCase, PaddingPolicyIsPinnedForPaddedLayouts) {
  Contract contract;
  contract.padding_policy = PaddingPolicy::zeros;
  const Contracts contracts = contract_of_mine(contract);
  Outcome outcome = passing();
  EXPECT_EQ(judge_with_past(outcome, &contracts).verdict, Verdict::pass);
  outcome.description.padding_policy = PaddingPolicy::attended;
  const Judgement judgement = judge_with_past(outcome, &contracts);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.findings.at(0).text,
            "declares padded rows as attended, its contract pins zeros");
  contract.padding_policy = PaddingPolicy::anything;
  const Contracts loosest = contract_of_mine(contract);
  EXPECT_EQ(judge_with_past(outcome, &loosest).verdict, Verdict::pass);
  outcome.description.padding_policy = PaddingPolicy::anything;
  EXPECT_EQ(judge_with_past(outcome, &contracts).verdict, Verdict::fail);
  outcome.c.problem.layout = Layout::ragged;
  EXPECT_EQ(judge_with_past(outcome, &contracts).verdict, Verdict::pass);
}

TEST(JudgeCase, PromiseBelowContractFails) {
  Contract contract;
  contract.promises.batch = Promise::bitwise;
  const Contracts contracts = contract_of_mine(contract);
  Outcome outcome = passing();
  outcome.description.promises.batch = Promise::rounding;
  const Judgement judgement = judge_with_past(outcome, &contracts);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.findings.at(0).text, "promises batch rounding, its contract pins bitwise");
  outcome.description.promises.batch = Promise::bitwise;
  EXPECT_EQ(judge_with_past(outcome, &contracts).verdict, Verdict::pass);
}

TEST(JudgeCase, RepeatNeedsPromisedBits) {
  Outcome outcome = passing();
  outcome.repeat_equal = false;
  EXPECT_THAT(statistics(judge_with_past(outcome)), ElementsAre("run_to_run"));
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::fail);
  outcome.description.promises.run_to_run = Promise::rounding;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
  EXPECT_THAT(judge_with_past(outcome).notes, ElementsAre(HasSubstr("other bits")));
  Contract contract;
  // the contract's promise binds a kernel that promises less
  contract.promises.run_to_run = Promise::bitwise;
  const Contracts contracts = contract_of_mine(contract);
  EXPECT_THAT(statistics(judge_with_past(outcome, &contracts)),
              ElementsAre("promise", "run_to_run"));
  outcome = passing();
  outcome.repeat_checked = outcome.repeat_equal = false;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
}

TEST(JudgeCase, CallDifferenceIsQuoted) {
  Outcome outcome = passing();
  outcome.repeat_equal = false;
  outcome.call_difference = "the second call gave 2 where the first gave 1";
  EXPECT_EQ(judge_with_past(outcome).findings.at(0).text,
            "the second call gave 2 where the first gave 1, though the same bits are promised");
}

TEST(JudgeCase, ImpossibleSpeedIsMistrusted) {
  Outcome outcome = passing();
  outcome.times.cpu_ns = 2e6;
  outcome.times.physics = max_physics;
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
  for (const double physics : {std::nextafter(max_physics, infinity), infinity, nan_value}) {
    outcome.times.physics = physics;
    const Judgement judgement = judge_with_past(outcome);
    EXPECT_EQ(judgement.verdict, Verdict::mistrusted) << physics;
    EXPECT_THAT(statistics(judgement), ElementsAre("physics")) << physics;
  }
}

TEST(JudgeCase, MissingThirdCallIsNoted) {
  Outcome outcome = passing();
  outcome.calls = 3;
  EXPECT_THAT(judge_with_past(outcome).notes, testing::IsEmpty());
  outcome.calls = 2;
  EXPECT_THAT(judge_with_past(outcome).notes, ElementsAre(HasSubstr("a call takes more than 2 s")));
}

TEST(JudgeCase, NotesListUncheckedParts) {
  Outcome outcome = passing();
  outcome.errors.has_lse = false;
  outcome.errors.lse_z = nan_value;  // must not count
  outcome.reference_rows = 12;
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes,
              ElementsAre("lse=absent: denominator and exp2 errors could not be seen",
                          HasSubstr("12 of 16 rows")));
}

TEST(JudgeCase, IsPureFunction) {
  Outcome outcome = passing();
  outcome.errors.peak = 7;
  const Judgement first = judge_with_past(outcome), second = judge_with_past(outcome);
  EXPECT_EQ(first.verdict, second.verdict);
  EXPECT_EQ(first.findings.at(0).text, second.findings.at(0).text);
  EXPECT_EQ(first.percent_of_limit, second.percent_of_limit);
}

// A kernel may refuse a problem on a device that no reviewed text covers.
TEST(JudgeCase, SupportEntryBindsOneDevice) {
  const auto table = SupportTable::read(
      TemporaryFile(
          "[[unsupported]]\nkernel = \"mine/k\"\ndevice = \"cpu\"\nwhere = { dtype = \"fp32\" "
          "}\nreason = \"r\"\n")
          .path());
  ASSERT_TRUE(table) << to_string(table.error());
  Outcome outcome;
  outcome.c.kernel = "mine/k";
  outcome.status = Status::unsupported;
  outcome.reason = "no device";
  const auto verdict_on = [&](const std::string& device) {
    outcome.c.device = device;
    return judge({.outcome = &outcome, .support = &*table}).verdict;
  };
  EXPECT_EQ(verdict_on("cuda:0"), Verdict::unsupported);
  EXPECT_EQ(verdict_on("cpu"), Verdict::support_mismatch);
}

// A failure stays a failure, however large an error statistic becomes.
TEST(JudgeCase, FailsMonotonicallyInErrors) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> times_limit(0, 2);
  const auto draw = [&](double limit) {
    const double value = times_limit(random) * limit;
    return value > 1.9 * limit ? nan_value : value;
  };
  int failures = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Outcome outcome = passing();
    outcome.output_digest = std::string(32, 'b');
    outcome.description.build_id = "build-2";
    ErrorStatistics& errors = outcome.errors;
    errors.peak = draw(6.5), errors.beyond_output = draw(6.5), errors.rms = draw(1.35),
    errors.lse_z = draw(6), errors.elsewhere = draw(19.5);
    if (!is_failure(judge_with_past(outcome).verdict)) continue;
    ++failures;
    for (double ErrorStatistics::*statistic :
         {&ErrorStatistics::peak, &ErrorStatistics::beyond_output, &ErrorStatistics::rms,
          &ErrorStatistics::lse_z, &ErrorStatistics::elsewhere}) {
      for (const double wider : {std::nextafter(errors.*statistic, infinity),
                                 errors.*statistic * 1.5 + 1, infinity, nan_value}) {
        Outcome widened = outcome;
        widened.errors.*statistic = wider;
        EXPECT_TRUE(is_failure(judge_with_past(widened).verdict)) << wider;
      }
    }
  }
  EXPECT_GT(failures, 500);
  EXPECT_LT(failures, 2000);
}

}  // namespace
}  // namespace plumbline
