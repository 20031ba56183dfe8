// Verdicts parse back, the worse one stands, and what exit code they make together.
#include "harness/judge/exit_code.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

TEST(Verdicts, HaveNamesThatParseBack) {
  for (const Verdict verdict : all<Verdict>()) EXPECT_EQ(parse<Verdict>(name(verdict)), verdict);
  EXPECT_EQ(name(Verdict::first_seen), "first_seen");
  EXPECT_EQ(name(Verdict::support_mismatch), "support_mismatch");
  EXPECT_EQ(in_words(Verdict::first_seen), "first seen");
  EXPECT_EQ(in_words(Verdict::support_mismatch), "support_mismatch");
  EXPECT_EQ(parse<Verdict>("new"), std::nullopt);
  EXPECT_EQ(parse<Verdict>(""), std::nullopt);
}

TEST(Verdicts, TheWorseOneStands) {
  constexpr Verdict worst_first[] = {Verdict::crashed,       Verdict::timeout,
                                     Verdict::out_of_memory, Verdict::error,
                                     Verdict::fail,          Verdict::support_mismatch,
                                     Verdict::mistrusted,    Verdict::unexpected_pass,
                                     Verdict::regressed,     Verdict::unconfirmed,
                                     Verdict::ambiguous,     Verdict::expected_failure,
                                     Verdict::acknowledged,  Verdict::changed,
                                     Verdict::improved,      Verdict::first_seen,
                                     Verdict::unsupported,   Verdict::pass};
  for (std::size_t i = 0; i < std::size(worst_first); ++i) {
    for (std::size_t j = i; j < std::size(worst_first); ++j) {
      EXPECT_EQ(worse_of(worst_first[i], worst_first[j]), worst_first[i]);
      EXPECT_EQ(worse_of(worst_first[j], worst_first[i]), worst_first[i]);
    }
  }
}

TEST(ExitCode, OfEachVerdictAlone) {
  const auto of = [](Verdict verdict) { return exit_code({verdict}, {}); };
  for (const Verdict fine : {Verdict::pass, Verdict::improved, Verdict::first_seen,
                             Verdict::changed, Verdict::expected_failure, Verdict::acknowledged})
    EXPECT_EQ(of(fine), 0) << fine;
  for (const Verdict failure :
       {Verdict::fail, Verdict::regressed, Verdict::crashed, Verdict::timeout,
        Verdict::out_of_memory, Verdict::error, Verdict::support_mismatch, Verdict::mistrusted,
        Verdict::unexpected_pass}) {
    EXPECT_EQ(of(failure), 1) << failure;
    EXPECT_TRUE(is_failure(failure));
  }
  EXPECT_EQ(of(Verdict::ambiguous), 5);
  EXPECT_FALSE(is_failure(Verdict::ambiguous));
  EXPECT_EQ(of(Verdict::unconfirmed), 5);
  EXPECT_FALSE(is_failure(Verdict::unconfirmed));
  EXPECT_EQ(of(Verdict::unsupported), 4);  // nothing was measured, whatever the support table says
}

TEST(ExitCode, OfMany) {
  EXPECT_EQ(exit_code({}, {}), 4);
  EXPECT_EQ(exit_code({Verdict::unsupported, Verdict::unsupported}, {}), 4);
  // all were refused
  EXPECT_EQ(exit_code({Verdict::support_mismatch, Verdict::unsupported}, {}, false, {}), 4);
  EXPECT_EQ(exit_code({Verdict::unsupported, Verdict::pass}, {}), 0);
  EXPECT_EQ(exit_code({Verdict::pass, Verdict::ambiguous}, {}), 5);
  EXPECT_EQ(exit_code({Verdict::ambiguous, Verdict::fail}, {}), 1);
  EXPECT_EQ(exit_code({Verdict::unsupported, Verdict::crashed}, {}), 1);
}

TEST(ExitCode, CountsChangesThatLoseCoverage) {
  const auto changes = [](bool is_failure) {
    return std::vector<RunChange>{{"smoke",
                                   "cpu/flash/bf16/b1-h1-s1-d64",
                                   {ChangeKind::vanished, 0, 0, "is gone", is_failure}}};
  };
  EXPECT_EQ(exit_code({Verdict::pass}, {}, true, changes(true)), 1);
  EXPECT_EQ(exit_code({Verdict::pass}, {}, true, changes(false)), 0);
  EXPECT_EQ(exit_code({Verdict::ambiguous}, {}, true, changes(true)), 1);
}

TEST(ExitCode, CountsSuiteScores) {
  const auto score = [](std::string status) {
    return std::vector<SuiteScore>{{"smoke", "cpu/flash", "bf16", "shrink", 9, 4, 3.5, status}};
  };
  EXPECT_EQ(exit_code({Verdict::pass}, score("fail")), 1);
  EXPECT_EQ(exit_code({Verdict::pass}, score("pass")), 0);
  EXPECT_EQ(exit_code({Verdict::pass}, score("not judged: partial suite")), 0);
}

}  // namespace
}  // namespace plumbline
