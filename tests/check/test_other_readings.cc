// Tests that check names the reading of the tensors that fits if a dump was written wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::run_emulated;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Problem problem_of(Layout layout, std::int64_t batch = 2) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.layout = layout;
  problem.batch = batch;
  problem.heads_q = 8;
  problem.heads_kv = 8;
  problem.seq_q = problem.seq_kv = 32;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  problem.page_size = 16;
  problem.lse = false;
  return problem;
}

CheckReport judged(const DumpTensors& tensors, const Attributes& attributes,
                   const std::string& name = "dump.safetensors") {
  auto dump = make_dump(name, tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  auto report = check(*dump);
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

// Divides a tensor into `parts` equal parts. Part i is replaced by part from[i].
void permute(std::vector<std::byte>& data, std::size_t parts,
             const std::vector<std::size_t>& from) {
  const std::vector<std::byte> before = data;
  const std::size_t size = data.size() / parts;
  for (std::size_t i = 0; i < from.size(); ++i)
    std::memcpy(data.data() + i * size, before.data() + from[i] * size, size);
}

TEST(OtherReadings, OtherLayoutIsNamed) {
  for (const auto& [layout, stated] :
       {std::pair{Layout::padded_bhsd, "padded_bshd"},
        std::pair{Layout::padded_bshd, "padded_bhsd"}, std::pair{Layout::paged_hnd, "paged_nhd"}}) {
    Problem problem = problem_of(layout);
    if (problem.is_paged()) problem.seq_q = 1, problem.heads_q = 16, problem.page_size = 8;
    const CheckReport report = judged(run_emulated(problem, {}), {{"layout", stated}});
    EXPECT_EQ(report.answer, Answer::bug) << "whoever is wrong, it is not green";
    EXPECT_THAT(report.cause(),
                StartsWith("would be explained if the layout were " + std::string(name(layout)) +
                           ", not " + stated + ": if it is, state layout = "));
    EXPECT_THAT(report.suggestions.at(1), HasSubstr("plumbline check dump.safetensors --layout " +
                                                    std::string(name(layout))));
  }
}

TEST(OtherReadings, ExchangedInputsAreNamed) {
  const Problem problem = problem_of(Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, {});
  std::swap(tensors.data("q"), tensors.data("k"));
  EXPECT_EQ(judged(tensors, attributes_of(problem)).cause(),
            "would be explained if q and k were exchanged");
  tensors = run_emulated(problem, {});
  std::swap(tensors.data("v"), tensors.data("k"));
  EXPECT_EQ(judged(tensors, attributes_of(problem)).cause(),
            "would be explained if k and v were exchanged");
}

TEST(OtherReadings, PermutedSamplesAndHeadsAreNamed) {
  const Problem problem = problem_of(Layout::padded_bhsd, 3);
  DumpTensors tensors = run_emulated(problem, {});
  permute(tensors.data("out"), 3, {1, 2, 0});
  EXPECT_EQ(judged(tensors, attributes_of(problem)).cause(),
            "would be explained if samples were exchanged: sample 0 of the output contains the "
            "result of sample 1, 1 that of 2, 2 that of 0");
  tensors = run_emulated(problem, {});
  std::vector<std::size_t> order(24);
  for (std::size_t i = 0; i < 24; ++i) order[i] = i % 8 == 3 ? i + 2 : i % 8 == 5 ? i - 2 : i;
  permute(tensors.data("out"), 24, order);
  EXPECT_EQ(
      judged(tensors, attributes_of(problem)).cause(),
      "would be explained if heads were exchanged: head 3 of the output contains the result of "
      "head 5, 5 that of 3");
}

TEST(OtherReadings, LseIsExchangedLikeOutput) {
  Problem problem = problem_of(Layout::padded_bhsd, 3);
  problem.lse = true;
  DumpTensors tensors = run_emulated(problem, {});
  permute(tensors.data("out"), 3, {1, 2, 0});
  EXPECT_THAT(judged(tensors, attributes_of(problem)).cause(),
              Not(StartsWith("would be explained if samples were exchanged")));
  permute(tensors.data("lse"), 3, {1, 2, 0});
  EXPECT_THAT(judged(tensors, attributes_of(problem)).cause(),
              StartsWith("would be explained if samples were exchanged"));
}

TEST(OtherReadings, UnrelatedOutputIsRecognised) {
  Problem problem = problem_of(Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, {});
  problem.seed += 1;
  tensors.data("out") = run_emulated(problem, {}).data("out");
  const CheckReport report = judged(tensors, attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.cause(), StartsWith("the output does not match these inputs at all"));
  std::fill(tensors.data("out").begin(), tensors.data("out").end(), std::byte{0});
  EXPECT_THAT(judged(tensors, attributes_of(problem)).cause(),
              StartsWith("the output is 0 in every element: it was never written"));
}

TEST(OtherReadings, WrongOutputIsNotUnrelated) {
  Problem problem = problem_of(Layout::padded_bshd);
  test::Emulated kernel;
  kernel.drop_last_keys = 3;
  const CheckReport report = judged(run_emulated(problem, kernel), attributes_of(problem));
  EXPECT_EQ(report.answer, Answer::bug);
  EXPECT_THAT(report.cause(), Not(HasSubstr("nothing to do with")));
}

}  // namespace
}  // namespace plumbline
