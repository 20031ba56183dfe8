// Verdicts: their names, the worse of two, and the exit code of several.
#include "harness/judge/exit_code.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

TEST(Verdicts, NamesParseBack) {
  for (const Verdict verdict : all<Verdict>()) EXPECT_EQ(parse<Verdict>(name(verdict)), verdict);
  EXPECT_EQ(name(Verdict::first_seen), "first_seen");
  EXPECT_EQ(name(Verdict::support_mismatch), "support_mismatch");
  EXPECT_EQ(in_words(Verdict::first_seen), "first seen");
  EXPECT_EQ(in_words(Verdict::support_mismatch), "support_mismatch");
  EXPECT_EQ(parse<Verdict>("new"), std::nullopt);
  EXPECT_EQ(parse<Verdict>(""), std::nullopt);
}

TEST(Verdicts, WorseWins) {
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

TEST(ExitCode, SingleVerdicts) {
  const auto of = [](Verdict verdict) { return exit_code_of(run_state({verdict}, {})); };
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

TEST(ExitCode, SeveralVerdicts) {
  EXPECT_EQ(exit_code_of(run_state({}, {})), 4);
  EXPECT_EQ(exit_code_of(run_state({Verdict::unsupported, Verdict::unsupported}, {})), 4);
  // all were refused
  EXPECT_EQ(run_state({{Verdict::support_mismatch, Verdict::unsupported}, {}, {}, true, false}),
            RunState::nothing_measured);
  EXPECT_EQ(exit_code_of(run_state({Verdict::unsupported, Verdict::pass}, {})), 0);
  EXPECT_EQ(exit_code_of(run_state({Verdict::pass, Verdict::ambiguous}, {})), 5);
  EXPECT_EQ(exit_code_of(run_state({Verdict::ambiguous, Verdict::fail}, {})), 1);
  EXPECT_EQ(exit_code_of(run_state({Verdict::unsupported, Verdict::crashed}, {})), 1);
}

TEST(ExitCode, IncludesChanges) {
  const auto state = [](Verdict verdict, Standing standing) {
    const std::vector<RunChange> changes{{"smoke",
                                          "cpu/flash/bf16/b1-h1-s1-d64",
                                          {ChangeKind::vanished, 0, 0, "is gone", standing}}};
    return run_state({{verdict}, {}, changes, true, true});
  };
  EXPECT_EQ(state(Verdict::pass, Standing::failure), RunState::not_fine);
  EXPECT_EQ(state(Verdict::pass, Standing::open), RunState::open);
  EXPECT_EQ(state(Verdict::fail, Standing::open), RunState::not_fine);
  EXPECT_EQ(state(Verdict::pass, Standing::fine), RunState::fine);
  EXPECT_EQ(state(Verdict::ambiguous, Standing::failure), RunState::not_fine);
}

TEST(ExitCode, FollowsPrecedenceOfStates) {
  const std::vector<Verdict> failing{Verdict::fail, Verdict::ambiguous, Verdict::pass};
  EXPECT_EQ(run_state({failing, {}, {}, false, true}), RunState::incomplete);
  EXPECT_EQ(run_state({failing, {}, {}, true, false}), RunState::nothing_measured);
  EXPECT_EQ(run_state({failing, {}, {}, true, true}), RunState::not_fine);
  EXPECT_EQ(run_state({{Verdict::pass}, {}, {}, true, true, true}), RunState::open);
  EXPECT_EQ(worse_of(RunState::not_fine, RunState::incomplete), RunState::incomplete);
  for (const RunState state : all<RunState>()) EXPECT_EQ(state_of_exit(exit_code_of(state)), state);
  EXPECT_EQ(state_of_exit(42), RunState::incomplete) << "no run ends with it";
}

TEST(ExitCode, IncludesSuiteScores) {
  const auto score = [](std::string status) {
    return std::vector<SuiteScore>{{"smoke", "cpu/flash", "bf16", "shrink", 9, 4, 3.5, status}};
  };
  EXPECT_EQ(exit_code_of(run_state({Verdict::pass}, score("fail"))), 1);
  EXPECT_EQ(exit_code_of(run_state({Verdict::pass}, score("pass"))), 0);
  EXPECT_EQ(exit_code_of(run_state({Verdict::pass}, score("not judged: partial suite"))), 0);
}

}  // namespace
}  // namespace plumbline
