// Legal variants of one kernel raise no alarm if few significands of P occur: P rounded after
// normalisation, P under a sink or under a rounded or shared maximum, tiles that repeat under
// ALiBi, and long caches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sigma/conformance.h"

namespace plumbline::test {
namespace {

// All kernels of the provider "mutants" that have no bug.
std::vector<std::string> legal_kernels(const std::vector<ProviderInfo>& providers) {
  std::vector<std::string> names;
  for (const OfferedKernel& kernel : offered_kernels(providers)) {
    if (kernel.name.starts_with("mutants/legal_")) names.push_back(kernel.name);
  }
  return names;
}

Problem base(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 1;
  problem.heads_q = problem.heads_kv = 2;
  problem.seq_q = 4;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  return problem;
}

// Numbers n of keys with 1 / n near the midpoint of two bf16 or fp16 numbers, and others.
constexpr std::array lengths{3, 17, 60, 120, 240, 255, 480, 512};

std::vector<Problem> problems(DType dtype) {
  std::vector<Problem> all;
  std::uint64_t seed = 100;
  const auto add = [&](Problem problem) {
    problem.seed = ++seed;
    all.push_back(canonical(problem));
  };
  for (const int keys : lengths) {
    for (const DType out : {dtype, DType::f32}) {
      Problem problem = base(dtype);
      problem.seq_kv = keys;
      problem.out_dtype = out;
      for (const Law law : {Law::near_uniform, Law::uniform, Law::llm}) {
        for (const VLaw v_law : {VLaw::normal, VLaw::uniform, VLaw::large_mean, VLaw::constant}) {
          problem.law = law;
          problem.v_law = v_law;
          add(problem);
        }
      }
      problem.v_law = VLaw::large_mean;
      for (const Law law : {Law::near_uniform, Law::normal, Law::sink}) {
        problem.law = law;
        problem.sinks = Sinks::normal;
        add(problem);
        problem.sinks = Sinks::none;
        problem.alibi = Alibi::standard;
        problem.heads_q = problem.heads_kv = 8;
        add(problem);
        problem.alibi = Alibi::none;
        problem.heads_q = problem.heads_kv = 2;
      }
    }
  }
  return all;
}

std::vector<Problem> long_problems(DType dtype) {
  std::vector<Problem> all;
  for (const Law law : {Law::normal, Law::near_uniform}) {
    Problem problem = base(dtype);
    problem.seq_q = problem.heads_q = problem.heads_kv = 1;
    problem.seq_kv = 131072;
    problem.law = law;
    problem.seed = 7;
    all.push_back(canonical(problem));
  }
  return all;
}

void expect_no_alarm_on(const std::vector<Problem>& all, const std::string& what) {
  const auto text = reviewed_text();
  ASSERT_TRUE(text) << to_string(text.error());
  MeasureOptions options;
  options.worker_executable = binary_directory / "bin" / "plumbline-worker";
  options.providers = {(binary_directory / "lib" / "plumbline" / "plumbline_mutants.so").string()};
  const auto providers = discover(options);
  ASSERT_TRUE(providers) << to_string(providers.error());
  const std::vector<std::string> kernels = legal_kernels(*providers);
  ASSERT_GE(kernels.size(), 30U);
  Plan plan;
  for (const Problem& problem : all) {
    for (const std::string& kernel : kernels) {
      PlannedCase planned;
      planned.suite = "sigma";
      planned.group = "legal";
      planned.c = {kernel, "cpu", problem};
      planned.case_id = case_id(planned.c);
      plan.cases.push_back(std::move(planned));
    }
  }
  const Runner runner{options, *providers, text->contracts};
  RunSession session(cli::this_run("test", "", "plumbline run", {}), runner, *text, nullptr);
  const auto done = session.execute(plan, false, [] {});
  ASSERT_TRUE(done) << to_string(done.error());
  expect_no_alarm(session, what);
  EXPECT_EQ(count(session, Verdict::first_seen), static_cast<int>(plan.cases.size()));
  const auto nearest = std::max_element(
      session.outcomes().begin(), session.outcomes().end(), [](const auto& a, const auto& b) {
        return a.judgement.percent_of_limit < b.judgement.percent_of_limit;
      });
  fmt::print("{} cases, nearest to its limit: {} at {:.0f} % of {}'s\n", plan.cases.size(),
             nearest->outcome.case_id, nearest->judgement.percent_of_limit,
             nearest->judgement.nearest_statistic);
}

class LegalVariants : public testing::TestWithParam<DType> {};
TEST_P(LegalVariants, RaiseNoAlarm) {
  expect_no_alarm_on(problems(GetParam()), std::string(name(GetParam())));
}
TEST_P(LegalVariants, RaiseNoAlarmOverALongCache) {
  expect_no_alarm_on(long_problems(GetParam()), fmt::format("{} long", name(GetParam())));
}
INSTANTIATE_TEST_SUITE_P(Sigma, LegalVariants, testing::Values(DType::f16, DType::bf16),
                         [](const auto& at) { return std::string(name(at.param)); });

}  // namespace
}  // namespace plumbline::test
