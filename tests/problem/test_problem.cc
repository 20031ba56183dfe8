// Problem and case ids, setting fields from text, validation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "harness/problem/problem.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

Problem with(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  Problem problem;
  for (const auto& [key, value] : fields) EXPECT_EQ(set_field(problem, key, value), std::nullopt);
  return problem;
}

TEST(ProblemIdTest, DefaultsAreLeftOut) { EXPECT_EQ(problem_id(Problem{}), "bf16/b1-h1-s1-d64"); }

TEST(ProblemIdTest, HeaderExample) {
  const Problem problem = with({{"batch", "2"},
                                {"heads_q", "8"},
                                {"heads_kv", "2"},
                                {"seq_q", "128"},
                                {"seq_kv", "512"},
                                {"mask", "causal_bottom_right"},
                                {"layout", "paged_nhd"},
                                {"lengths", "random"},
                                {"seed", "3"}});
  EXPECT_EQ(
      problem_id(problem),
      "bf16/b2-h8x2-s128x512-d64/mask=causal_bottom_right/layout=paged_nhd/lengths=random/seed=3");
}

TEST(ProblemIdTest, EverySegment) {
  const Problem problem = with({{"dtype", "fp16"},
                                {"out_dtype", "fp32"},
                                {"head_dim_qk", "192"},
                                {"head_dim_vo", "128"},
                                {"window", "128,4"},
                                {"layout", "paged_hnd"},
                                {"lengths", "with_zero"},
                                {"page_size", "64"},
                                {"fill", "nan"},
                                {"law", "peaky"},
                                {"v_law", "grid"},
                                {"k_scale", "0.1"},
                                {"v_scale", "-2"},
                                {"scale", "1e-05"},
                                {"lse", "false"},
                                {"seed", "18446744073709551615"}});
  EXPECT_EQ(problem_id(problem),
            "fp16/b1-h1-s1-d192x128/out=fp32/window=128,4/layout=paged_hnd/lengths=with_zero/"
            "page=64/fill=nan/law=peaky/v=grid/k_scale=0.1/"
            "v_scale=-2/scale=1e-05/lse=false/seed=18446744073709551615");
}

TEST(ProblemIdTest, EquivalentProblemsShareId) {
  EXPECT_EQ(problem_id(with({{"out_dtype", "bf16"}, {"kv_dtype", "bf16"}})), "bf16/b1-h1-s1-d64");
  EXPECT_EQ(problem_id(with({{"page_size", "32"}})), "bf16/b1-h1-s1-d64");
  EXPECT_EQ(problem_id(with({{"mask", "causal_top_left"}, {"window", "8,8"}})),
            "bf16/b1-h1-s1-d64/mask=causal_top_left/window=8,-1");
  EXPECT_EQ(problem_id(with({{"scale", "-0.0"}})), "bf16/b1-h1-s1-d64");
}

template <class Enum>
Enum any_of(std::mt19937_64& random, int count) {
  return static_cast<Enum>(random() % static_cast<unsigned>(count));
}

Problem random_problem(std::mt19937_64& random) {
  const auto size = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const auto real = [&] {
    return std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 200));
  };
  Problem p;
  p.dtype = std::array{DType::f32, DType::f16, DType::bf16, DType::e4m3}[random() % 4];
  p.out_dtype = std::array{DType::none, DType::f32, DType::f16, DType::bf16}[random() % 4];
  p.kv_dtype = random() % 4 == 0 ? p.dtype : DType::none;
  p.batch = size(9);
  p.heads_q = size(64);
  p.heads_kv = random() % 2 ? p.heads_q : size(64);
  p.seq_q = size(5000);
  p.seq_kv = random() % 2 ? p.seq_q : size(5000);
  p.head_dim_qk = size(1024);
  p.head_dim_vo = random() % 2 ? p.head_dim_qk : size(1024);
  p.mask = any_of<Mask>(random, 3);
  p.window_left = static_cast<std::int64_t>(random() % 4) - 1;
  p.window_right = static_cast<std::int64_t>(random() % 4) - 1;
  p.layout = any_of<Layout>(random, 5);
  p.lengths = any_of<Lengths>(random, 6);
  p.padding = any_of<Padding>(random, 2);
  p.page_size = random() % 2 ? 16 : size(1024);
  p.fill = any_of<Fill>(random, 3);
  p.law = any_of<Law>(random, 8);
  p.v_law = any_of<VLaw>(random, 6);
  p.k_scale = random() % 2 ? 1 : real();
  p.v_scale = random() % 2 ? 1 : -real();
  p.scale = random() % 2 ? 0 : real();
  p.softcap = random() % 2 ? 0 : real();
  p.lse = random() % 2;
  p.seed = random() >> (random() % 64);
  return p;
}

TEST(ProblemIdTest, RandomProblemsParseBack) {
  std::mt19937_64 random(42);
  std::set<std::string> ids;
  for (int i = 0; i < 5000; ++i) {
    const Problem problem = random_problem(random);
    const std::string id = problem_id(problem);
    const auto back = parse_problem_id(id);
    ASSERT_TRUE(back.has_value()) << id << "\n" << to_string(back.error());
    ASSERT_EQ(*back, canonical(problem)) << id;
    ASSERT_EQ(problem_id(*back), id);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 5000u);
}

TEST(ProblemIdTest, SegmentsInAnyOrder) {
  const auto problem = parse_problem_id("bf16/b1-h8-s64-d64/seed=2/mask=causal_top_left");
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem_id(*problem), "bf16/b1-h8-s64-d64/mask=causal_top_left/seed=2");
}

std::vector<std::string> complaints(std::string_view id) {
  const auto problem = parse_problem_id(id);
  std::vector<std::string> texts;
  if (!problem) {
    for (const Error& error : problem.error()) texts.push_back(error.to_string());
  }
  return texts;
}

TEST(ProblemIdTest, AllErrorsAreReportedAtOnce) {
  EXPECT_THAT(
      complaints("bf17/b1-h8-s99999999-d64/maks=none/seed=x/law=normall/lse=false/lse=true"),
      ElementsAre("dtype: \"bf17\" is not one of fp32, fp16, bf16, e4m3, e5m2; did you mean bf16?",
                  AllOf(HasSubstr("seq_q: \"99999999\" is not an integer from 0 to 16777216"),
                        HasSubstr("remedy: write it as")),
                  "unknown key \"maks\" in \"maks=none\"\n  remedy: did you mean mask?",
                  "seed: \"x\" is not an integer from 0 to 18446744073709551615",
                  HasSubstr("did you mean normal?"), "\"lse\" is given twice\n  remedy: keep one"));
}

TEST(ProblemIdTest, MalformedIds) {
  EXPECT_THAT(complaints(""), ElementsAre(HasSubstr("is not a problem id")));
  EXPECT_THAT(complaints("bf16"), ElementsAre(HasSubstr("is not a problem id")));
  EXPECT_THAT(complaints("bf16/b1-h8-s64"), ElementsAre(HasSubstr("\"b1-h8-s64\" is not a shape")));
  EXPECT_THAT(complaints("bf16/h8-b1-s64-d64"), testing::SizeIs(2));
  EXPECT_THAT(complaints("bf16/b1x2-h8-s64-d64"), ElementsAre(HasSubstr("too many numbers")));
  EXPECT_THAT(complaints("bf16/b1-h8x2x1-s64-d64"), ElementsAre(HasSubstr("too many numbers")));
  EXPECT_THAT(complaints("bf16/b1-h8x-s64-d64"),
              ElementsAre(HasSubstr("heads_kv: \"\" is not an integer")));
  EXPECT_THAT(complaints("bf16/b1-h8-s64-d64/"), ElementsAre(HasSubstr("\"\" is not key=value")));
  EXPECT_THAT(complaints("bf16/b1-h8-s64-d64/lse"), ElementsAre(HasSubstr("did you mean lse?")));
}

TEST(CaseIdTest, DeviceIsAppendedUnlessCpu) {
  Case c{"cpu/flash", "cpu", Problem{}};
  EXPECT_EQ(case_id(c), "cpu/flash/bf16/b1-h1-s1-d64");
  c.device = "emulated:sm_90";
  EXPECT_EQ(case_id(c), "cpu/flash/bf16/b1-h1-s1-d64/device=emulated:sm_90");
}

TEST(CaseIdTest, ParsesBack) {
  for (const char* id :
       {"cpu/flash/bf16/b1-h1-s1-d64", "ours/tc/fp16/b1-h8x2-s64-d64/seed=2/device=cuda:0"}) {
    const auto c = parse_case_id(id);
    ASSERT_TRUE(c.has_value()) << to_string(c.error());
    EXPECT_EQ(case_id(*c), id);
  }
  EXPECT_EQ(parse_case_id("ours/tc/bf16/b1-h1-s1-d64/device=cuda:1")->device, "cuda:1");
}

TEST(CaseIdTest, Malformed) {
  for (const char* id :
       {"", "cpu", "cpu/flash", "/flash/bf16/b1-h1-s1-d64", "cpu//bf16/b1-h1-s1-d64",
        "cpu/flash/bf16/b1-h1-s1-d64/device=", "cpu/flash/bf16/b1-h1-s1-d64/device=cuda:0/seed=2",
        "cpu/flash/bf16/oops"}) {
    EXPECT_FALSE(parse_case_id(id).has_value()) << id;
  }
}

TEST(SetFieldTest, PairKeysSetBoth) {
  const Problem problem =
      with({{"heads", "8"}, {"heads_kv", "2"}, {"seq", "100"}, {"head_dim", "128"}});
  EXPECT_EQ(problem.heads_q, 8);
  EXPECT_EQ(problem.heads_kv, 2);
  EXPECT_EQ(problem.seq_q, 100);
  EXPECT_EQ(problem.seq_kv, 100);
  EXPECT_EQ(problem.head_dim_qk, 128);
  EXPECT_EQ(problem.head_dim_vo, 128);
}

TEST(SetFieldTest, EveryFieldNameIsAccepted) {
  Problem problem;
  for (const std::string_view key : field_names()) {
    const auto message = set_field(problem, key, "?");
    ASSERT_TRUE(message.has_value()) << key;
    EXPECT_THAT(*message, testing::Not(HasSubstr("is not a problem field"))) << key;
  }
  EXPECT_EQ(problem, Problem{}) << "a rejected value leaves the problem as it was";
}

TEST(SetFieldTest, ErrorNamesAllowedValues) {
  Problem problem;
  EXPECT_THAT(set_field(problem, "batch", "2 "),
              Optional(HasSubstr("batch: \"2 \" is not an integer from 1 to 65536")));
  EXPECT_THAT(set_field(problem, "batch", "0x2"), Optional(HasSubstr("is not an integer")));
  EXPECT_THAT(set_field(problem, "head_dim", "1025"),
              Optional(HasSubstr("head_dim: \"1025\" is not an integer from 1 to 1024")));
  EXPECT_THAT(set_field(problem, "window_left", "-2"), Optional(HasSubstr("from -1 to")));
  EXPECT_THAT(set_field(problem, "window", "3"),
              Optional(HasSubstr("two integers \"left,right\"")));
  EXPECT_THAT(set_field(problem, "mask", "causal"),
              Optional(HasSubstr("none, causal_top_left, causal_bottom_right")));
  EXPECT_THAT(set_field(problem, "k_scale", "nan"), Optional(HasSubstr("is not a finite number")));
  EXPECT_THAT(set_field(problem, "k_scale", "1e999"),
              Optional(HasSubstr("is not a finite number")));
  EXPECT_THAT(set_field(problem, "scale", "-1"),
              Optional(HasSubstr("finite number of at least 0")));
  EXPECT_THAT(set_field(problem, "lse", "yes"), Optional(HasSubstr("true or false")));
  EXPECT_THAT(set_field(problem, "seed", "-1"), Optional(HasSubstr("from 0 to")));
  EXPECT_THAT(set_field(problem, "heads_qq", "1"), Optional(HasSubstr("did you mean heads_q?")));
  EXPECT_THAT(set_field(problem, "dtype", "tf32"), Optional(HasSubstr("is not one of")));
}

TEST(HasFieldTest, ComparesMeaning) {
  const Problem problem = with({{"heads", "8"}, {"out_dtype", "bf16"}});
  EXPECT_TRUE(has_field(problem, "heads", "8"));
  EXPECT_TRUE(has_field(problem, "heads_kv", "8"));
  EXPECT_TRUE(has_field(problem, "dtype", "bf16"));
  EXPECT_TRUE(has_field(problem, "out_dtype", "bf16"));
  EXPECT_TRUE(has_field(problem, "kv_dtype", "bf16"));
  EXPECT_TRUE(has_field(problem, "window", "-1,-1"));
  EXPECT_FALSE(has_field(problem, "dtype", "fp16"));
  EXPECT_FALSE(has_field(problem, "heads", "4"));
  EXPECT_FALSE(has_field(with({{"heads_q", "8"}}), "heads", "8"));
  EXPECT_FALSE(has_field(problem, "heads", "eight"));
}

TEST(ValidateTest, Defaults) { EXPECT_THAT(validate(Problem{}), IsEmpty()); }

TEST(ValidateTest, HeadsMustDivide) {
  EXPECT_THAT(validate(with({{"heads_q", "8"}, {"heads_kv", "3"}})),
              ElementsAre("heads_kv 3 does not divide heads_q 8"));
  EXPECT_THAT(validate(with({{"heads_q", "2"}, {"heads_kv", "4"}})),
              ElementsAre("heads_kv 4 does not divide heads_q 2"));
}

TEST(ValidateTest, Dtypes) {
  Problem tf32;
  tf32.dtype = DType::tf32;
  EXPECT_THAT(validate(tf32),
              ElementsAre(HasSubstr("dtype tf32: Q is in fp32, fp16, bf16, e4m3 or e5m2")));
  for (const char* out : {"none", "bf16", "fp16", "fp32"}) {
    EXPECT_THAT(validate(with({{"dtype", "e4m3"}, {"kv_dtype", "e5m2"}, {"out_dtype", out}})),
                IsEmpty())
        << out;
  }
  for (const char* dtype : {"fp16", "bf16", "e4m3"}) {
    EXPECT_THAT(validate(with({{"dtype", dtype}, {"out_dtype", "e4m3"}})), IsEmpty()) << dtype;
  }
  EXPECT_THAT(validate(with({{"dtype", "fp32"}, {"out_dtype", "e5m2"}})),
              ElementsAre(HasSubstr("an fp8 output needs attention with Q in fp16, bf16 or fp8")));
  EXPECT_THAT(validate(with({{"out_dtype", "e4m3"}, {"v_scale", "2"}})),
              ElementsAre(HasSubstr("may exceed the range that the output's scale leaves")));
  EXPECT_THAT(validate(with({{"dtype", "e5m2"}, {"kv_dtype", "bf16"}})),
              ElementsAre(HasSubstr("kv_dtype bf16 with dtype e5m2")));
  EXPECT_THAT(validate(with({{"kv_dtype", "e4m3"}})), IsEmpty());
  EXPECT_THAT(validate(with({{"kv_dtype", "fp16"}})),
              ElementsAre(HasSubstr("kv_dtype fp16 with dtype bf16")));
  EXPECT_THAT(validate(with({{"out_dtype", "fp16"}})),
              ElementsAre(HasSubstr("in the dtype of Q, in fp32 or fp8")));
  EXPECT_THAT(validate(with({{"out_dtype", "fp32"}})), IsEmpty());
}

TEST(ValidateTest, PaddingNeedsAPaddedLayout) {
  EXPECT_THAT(validate(with({{"padding", "left"}, {"layout", "ragged"}})),
              ElementsAre("padding left needs a padded layout, not ragged"));
  EXPECT_THAT(validate(with({{"padding", "left"}, {"layout", "padded_bhsd"}})), IsEmpty());
  EXPECT_THAT(validate(with({{"padding", "left"}, {"merge", "natural"}, {"head_dim_qk", "1"}})),
              ElementsAre("merge natural needs padding right: a token's parts come first"));
}

TEST(ValidateTest, ProblemsBuiltInCode) {
  Problem problem;
  problem.heads_kv = 0;
  problem.seq_q = -3;
  problem.k_scale = std::nan("");
  EXPECT_THAT(validate(problem),
              ElementsAre(HasSubstr("heads_kv: \"0\""), HasSubstr("seq_q: \"-3\""),
                          HasSubstr("k_scale: \"nan\"")));
}

TEST(ValidateTest, TooLarge) {
  EXPECT_THAT(validate(with({{"batch", "256"}, {"seq_kv", "16777216"}})),
              ElementsAre(HasSubstr("exceeds 2^31 - 1 rows")));
}

TEST(ProblemTest, SoftmaxScale) {
  EXPECT_EQ(Problem{}.softmax_scale(), 0.125);
  EXPECT_EQ(with({{"scale", "0.5"}}).softmax_scale(), 0.5);
}

}  // namespace
}  // namespace plumbline
