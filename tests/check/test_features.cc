// Tests features that dumps state beyond masks, on an emulated kernel: softcap, slopes, sinks,
// biases, masks by head, and the dtypes of autocast. Each is rounding if applied, and named if
// forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <span>

#include "harness/check/check.h"
#include "harness/check/diff.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::Emulated;
using test::run_emulated;
using testing::ElementsAre;
using testing::HasSubstr;

Problem problem_of(DType dtype = DType::bf16) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 33;
  problem.seq_kv = 70;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

Dump dump_of(const DumpTensors& tensors, const Attributes& attributes) {
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  return dump ? *dump : Dump{};
}

CheckReport judge(const Problem& problem, const Emulated& kernel, const Attributes& more = {}) {
  Attributes attributes = attributes_of(problem);
  attributes.insert(more.begin(), more.end());
  auto report = check(dump_of(run_emulated(problem, kernel), attributes));
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

void expect_forgotten(const Problem& problem, const Emulated& kernel, const std::string& cause) {
  const CheckReport report = judge(problem, kernel);
  EXPECT_EQ(report.answer, Answer::bug) << report.sentence;
  ASSERT_FALSE(report.suggestions.empty()) << report.sentence;
  EXPECT_EQ(report.suggestions.front(), "would be explained " + cause);
}

// Returns numbers of N(0, deviation), the same on every machine with the same standard library.
std::vector<float> noise(std::size_t count, float deviation) {
  std::mt19937 bits(7);
  std::vector<float> values(count);
  for (float& value : values)
    value = deviation * (static_cast<float>(bits()) * 0x1p-31F - 1) * 1.7320508F;
  return values;
}

Emulated with_bias(const Problem& problem, bool by_sample, bool by_head, float deviation) {
  Emulated kernel;
  kernel.p = problem.dtype;
  kernel.bias_shape = {by_sample ? problem.batch : 1, by_head ? problem.heads_q : 1, problem.seq_q,
                       problem.seq_kv};
  std::size_t count = 1;
  for (const std::int64_t extent : kernel.bias_shape) count *= static_cast<std::size_t>(extent);
  kernel.bias = noise(count, deviation);
  return kernel;
}

TEST(Features, ForgottenFeatureIsNamed) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    Emulated fine, forgets;
    fine.p = forgets.p = dtype == DType::f32 ? DType::none : dtype;
    Problem problem = problem_of(dtype);
    problem.law = Law::llm;
    problem.softcap = 5;
    EXPECT_EQ(judge(problem, fine).answer, Answer::rounding) << name(dtype);
    forgets.forget_softcap = true;
    expect_forgotten(problem, forgets, "if the softcap were not applied");

    problem = problem_of(dtype);
    problem.alibi = Alibi::random;
    EXPECT_EQ(judge(problem, fine).answer, Answer::rounding) << name(dtype);
    forgets.forget_alibi = true;
    expect_forgotten(problem, forgets, "if ALiBi were not applied");

    problem = problem_of(dtype);
    problem.sinks = Sinks::large;
    EXPECT_EQ(judge(problem, fine).answer, Answer::rounding) << name(dtype);
    forgets.forget_sinks = true;
    expect_forgotten(problem, forgets, "if the attention sinks were left out");
  }
}

TEST(Features, SlopesOfEachSampleAndHead) {
  Problem problem = problem_of();
  Emulated kernel;
  kernel.p = DType::bf16;
  kernel.slopes = {0.5F, 0.25F, 0, 0.125F, 0.1F, 0.3F, 0.7F, 0};  // ALiBi includes a slope of 0
  EXPECT_EQ(judge(problem, kernel).answer, Answer::rounding);
  kernel.forget_alibi = true;
  expect_forgotten(problem, kernel, "if ALiBi were not applied");
}

TEST(Features, EveryBiasShapeIsRounding) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const bool by_sample : {false, true}) {
      for (const bool by_head : {false, true}) {
        const Problem problem = problem_of(dtype);
        Emulated kernel = with_bias(problem, by_sample, by_head, 2);
        if (dtype == DType::f32) kernel.p = DType::none;
        const CheckReport report = judge(problem, kernel);
        EXPECT_EQ(report.answer, Answer::rounding) << name(dtype) << ": " << report.sentence;
        EXPECT_THAT(report.notes, ElementsAre("a bias is added to the logits"));
      }
    }
  }
}

TEST(Features, WrongBiasIsNamed) {
  const Problem problem = problem_of();
  Emulated kernel = with_bias(problem, true, true, 2);
  kernel.forget_bias = true;
  expect_forgotten(problem, kernel, "if the bias were not added");
  kernel.forget_bias = false;
  kernel.scaled_bias = true;
  expect_forgotten(problem, kernel, "if the softmax scale also multiplied the bias");

  // The kernel reads head 0 and sample 0 of a bias that differs by head and sample.
  Emulated one = with_bias(problem, false, false, 2);
  DumpTensors tensors = run_emulated(problem, one);
  const Emulated many = with_bias(problem, false, true, 2);
  const auto bytes = std::as_bytes(std::span(many.bias));
  tensors.set("attn_bias", "F32", many.bias_shape, {bytes.begin(), bytes.end()});
  const auto report = check(dump_of(tensors, attributes_of(problem)));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->answer, Answer::bug);
  EXPECT_THAT(report->suggestions.front(), HasSubstr("if all heads had the bias of head 0"));
}

// ALiBi written as a bias is the same problem to the last bit: output, sigma and verdict.
TEST(Features, BiasIsJudgedLikeEqualAlibi) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const Problem problem = problem_of(dtype);
    Emulated kernel;
    kernel.p = dtype == DType::f32 ? DType::none : dtype;
    kernel.slopes = {0.5F, 0.25F, 0.125F, 1, 0.5F, 0.0625F, 2, 0.25F};  // their products are exact
    const DumpTensors with_slopes = run_emulated(problem, kernel);
    std::vector<float> bias;
    for (const float slope : kernel.slopes) {
      for (std::int64_t i = 0; i < problem.seq_q; ++i) {
        for (std::int64_t key = 0; key < problem.seq_kv; ++key)
          bias.push_back(-slope *
                         static_cast<float>(std::abs(i + problem.seq_kv - problem.seq_q - key)));
      }
    }
    DumpTensors with_bias = with_slopes;
    with_bias.erase("alibi_slopes");
    const auto bytes = std::as_bytes(std::span(bias));
    with_bias.set("attn_bias", "F32",
                  {problem.batch, problem.heads_q, problem.seq_q, problem.seq_kv},
                  {bytes.begin(), bytes.end()});
    const auto a = check(dump_of(with_slopes, attributes_of(problem))),
               b = check(dump_of(with_bias, attributes_of(problem)));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->answer, Answer::rounding);
    ASSERT_EQ(a->trials.size(), b->trials.size());
    for (std::size_t i = 0; i < a->trials.size(); ++i) {
      const auto &of_a = a->trials[i].outcome.errors, &of_b = b->trials[i].outcome.errors;
      EXPECT_EQ(a->trials[i].sigma_rms, b->trials[i].sigma_rms);
      EXPECT_EQ(of_a.peak, of_b.peak);
      EXPECT_EQ(of_a.rms, of_b.rms);
      EXPECT_EQ(of_a.lse_z, of_b.lse_z);
    }
  }
}

// The addition of a bias is one more rounding in fp32 of a number as large as logit or bias. Sigma
// includes 4 u of the largest of logit, bias and sum. In fp32 no other rounding hides it.
TEST(Features, SigmaCoversBiasAddition) {
  Problem problem = problem_of(DType::f32);
  Emulated plain;
  const auto strict = [](const CheckReport& report) {
    return report.trials.front().outcome.errors;
  };
  const auto without = strict(judge(problem, plain));
  for (const float deviation : {0.01F, 1.0F, 8.0F}) {
    const auto with = strict(judge(problem, with_bias(problem, true, true, deviation)));
    std::printf("bias of deviation %g: rms %.3f and peak %.2f sigma, without %.3f and %.2f\n",
                static_cast<double>(deviation), with.rms, with.peak, without.rms, without.peak);
    EXPECT_LT(with.rms, 0.15);
    EXPECT_LT(with.peak, 1);
  }
}

TEST(Features, InfiniteBiasesHideKeys) {
  Problem problem = problem_of();
  Emulated kernel = with_bias(problem, false, true, 1);
  kernel.sees = [](std::int64_t, std::int64_t h, std::int64_t i, std::int64_t key) {
    return (key + h + i) % 5 != 0;
  };
  DumpTensors tensors = run_emulated(problem, kernel);
  tensors.erase("mask");
  std::size_t at = 0;
  for (std::int64_t h = 0; h < problem.heads_q; ++h) {
    for (std::int64_t i = 0; i < problem.seq_q; ++i) {
      for (std::int64_t key = 0; key < problem.seq_kv; ++key, ++at) {
        if (!kernel.sees(0, h, i, key)) kernel.bias[at] = -std::numeric_limits<float>::infinity();
      }
    }
  }
  const auto bytes = std::as_bytes(std::span(kernel.bias));
  for (const char* name : {"attn_bias", "bias", "attn_mask"}) {
    DumpTensors named = tensors;
    named.erase("attn_bias");
    named.set(name, "F32", kernel.bias_shape, {bytes.begin(), bytes.end()});
    const auto report = check(dump_of(named, attributes_of(problem)));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->answer, Answer::rounding) << name << ": " << report->sentence;
    EXPECT_EQ(report->problem.mask, Mask::custom);
  }
}

TEST(Features, WrongHeadMaskIsNamed) {
  Problem problem = problem_of();
  Emulated kernel;
  kernel.p = DType::bf16;
  kernel.sees = [](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t key) {
    return (key * 7 + i + 3 * h + b) % 4 != 0;
  };
  DumpTensors tensors = run_emulated(problem, kernel);
  auto report = check(dump_of(tensors, attributes_of(problem)));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->answer, Answer::rounding) << report->sentence;

  const auto mask = tensors.data("mask");
  const auto shape = tensors.shape("mask");
  for (const auto& [other, cause] :
       std::map<std::string, std::string>{{"head", "if all heads had the mask of head 0"},
                                          {"sample", "if all samples had the mask of sample 0"},
                                          {"none", "if the mask were not applied"}}) {
    Emulated wrong = kernel;
    if (other == "head")
      wrong.sees = [&](auto b, auto, auto i, auto key) { return kernel.sees(b, 0, i, key); };
    if (other == "sample")
      wrong.sees = [&](auto, auto h, auto i, auto key) { return kernel.sees(0, h, i, key); };
    Problem computed = problem;
    if (other == "none") wrong.sees = nullptr, computed.mask = Mask::none;
    DumpTensors of_wrong = run_emulated(computed, wrong);
    of_wrong.set("mask", "BOOL", shape, mask);
    report = check(dump_of(of_wrong, attributes_of(problem)));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->answer, Answer::bug);
    ASSERT_FALSE(report->suggestions.empty());
    EXPECT_EQ(report->suggestions.front(), "would be explained " + cause);
  }
}

TEST(Features, DiffRejectsDifferentFeatures) {
  Problem problem = problem_of();
  problem.alibi = Alibi::standard;
  problem.sinks = Sinks::normal;
  Emulated kernel = with_bias(problem, false, true, 1);
  const DumpTensors tensors = run_emulated(problem, kernel);
  const Attributes attributes = attributes_of(problem);
  const Dump a = dump_of(tensors, attributes);
  const auto same = diff(a, a);
  ASSERT_TRUE(same) << to_string(same.error());
  EXPECT_EQ(same->answer, Answer::rounding) << same->sentence;
  for (const auto& [name, part] :
       std::map<std::string, std::string>{{"alibi_slopes", "what is added to the logit"},
                                          {"attn_bias", "what is added to the logit"},
                                          {"sinks", "the sink of head 0"}}) {
    DumpTensors without = tensors;
    without.erase(name);
    const auto other = diff(a, dump_of(without, attributes));
    ASSERT_FALSE(other) << name;
    EXPECT_THAT(to_string(other.error()), HasSubstr(part)) << name;
  }
  Attributes capped = attributes;
  capped["softcap"] = "30";
  EXPECT_THAT(to_string(diff(a, dump_of(tensors, capped)).error()), HasSubstr("softcap is 0 in a"));
}

TEST(Features, AcceptsOtherAttributeSpellings) {
  Problem problem = problem_of();
  problem.seq_q = problem.seq_kv;
  const DumpTensors tensors = run_emulated(problem, {});
  for (const Attributes& attributes :
       std::vector<Attributes>{{{"layout", "bshd"}, {"mask", "causal"}},
                               {{"layout", "bshd"}, {"is_causal", "True"}},
                               {{"layout", "bshd"}, {"causal", "true"}, {"is_causal", "1"}}}) {
    const Dump dump = dump_of(tensors, attributes);
    EXPECT_EQ(dump.problem().layout, Layout::padded_bshd);
    EXPECT_TRUE(dump.problem().is_causal());
  }
  EXPECT_EQ(dump_of(tensors, {{"layout", "bshd"}, {"is_causal", "true"}}).problem().mask,
            Mask::causal_top_left);
  EXPECT_EQ(dump_of(tensors, {{"layout", "bshd"}, {"is_causal", "false"}}).problem().mask,
            Mask::none);
}

// --- dtypes of autocast

std::vector<std::byte> in_fp32(const std::vector<std::byte>& data, DType dtype) {
  const std::size_t count = data.size() / size_in_bytes(dtype);
  std::vector<std::byte> wide(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(decode_at(dtype, data.data(), i));
    std::memcpy(wide.data() + i * sizeof value, &value, sizeof value);
  }
  return wide;
}

// Moves fp32 numbers by less than half of bf16's spacing, so that they round to the same bf16
// number.
void blur(std::vector<std::byte>& data) {
  std::mt19937 bits(3);
  for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, data.data() + at, sizeof word);
    word += bits() % 0x7000;  // of 0x10000
    std::memcpy(data.data() + at, &word, sizeof word);
  }
}

// Makes the dump of a bf16 kernel under autocast, whose inputs were fp32 before it rounded them.
DumpTensors autocast(const std::vector<std::string>& wide) {
  Emulated kernel;
  kernel.p = DType::bf16;
  DumpTensors tensors = run_emulated(problem_of(), kernel);
  for (const std::string& name : wide) {
    auto data = in_fp32(tensors.data(name), DType::bf16);
    blur(data);
    tensors.set(name, "F32", tensors.shape(name), std::move(data));
  }
  return tensors;
}

TEST(Autocast, RoundsWiderInputsToOutputDtype) {
  const Attributes attributes = attributes_of(problem_of());
  for (const auto& [wide, note] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"q"}, "q was rounded to bf16 before the kernel, as autocast does"},
           {{"q", "k"}, "q and k were rounded to bf16 before the kernel, as autocast does"},
           {{"q", "k", "v"},
            "q and k and v were rounded to bf16 before the kernel, as autocast does"}}) {
    const Dump dump = dump_of(autocast(wide), attributes);
    EXPECT_EQ(dump.problem().dtype, DType::bf16);
    const auto report = check(dump);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->answer, Answer::rounding) << report->sentence;
    EXPECT_THAT(report->notes, ElementsAre(note));
  }
}

TEST(Autocast, StatedDtypeWins) {
  Problem problem = problem_of();
  problem.law = Law::peaky;  // large logits, which the rounding of q moves
  // Computes in fp32 from q in fp32 and k and v in bf16, and writes bf16.
  Problem wide = problem;
  wide.dtype = DType::f32;
  DumpTensors tensors = run_emulated(wide, {});
  for (const char* name : {"k", "v"}) {
    std::vector<float> values(tensors.data(name).size() / sizeof(float));
    std::memcpy(values.data(), tensors.data(name).data(), tensors.data(name).size());
    for (float& value : values) value = static_cast<float>(round_to(value, DType::bf16));
    std::memcpy(tensors.data(name).data(), values.data(), tensors.data(name).size());
  }
  // Takes the output of these inputs from the reference itself.
  Attributes attributes = attributes_of(problem);
  tensors.erase("lse");
  const Dump exact = dump_of(tensors, attributes);
  std::vector<float> out;
  RowSelection rows = select_rows(*exact.geometry, 1e12);
  RoundingSpec spec = strict_spec(exact.problem());
  const Reference reference = compute_reference(*exact.geometry, exact.inputs(), spec, rows);
  std::vector<std::byte> written(static_cast<std::size_t>(exact.geometry->out.elements) * 2);
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const RowId& id = rows.rows[r];
    const auto at =
        static_cast<std::size_t>(exact.geometry->out_offset(id.sample, id.row, id.head));
    std::vector<float> row(reference.o.begin() + static_cast<std::ptrdiff_t>(r * 64),
                           reference.o.begin() + static_cast<std::ptrdiff_t>(r * 64 + 64));
    encode(DType::bf16, row, written.data() + at * 2);
  }
  tensors.set("out", "BF16", tensors.shape("out"), written);
  for (const char* name : {"k", "v"}) {
    std::vector<float> values(tensors.data(name).size() / sizeof(float));
    std::memcpy(values.data(), tensors.data(name).data(), tensors.data(name).size());
    std::vector<std::byte> narrow(values.size() * 2);
    encode(DType::bf16, values, narrow.data());
    tensors.set(name, "BF16", tensors.shape(name), narrow);
  }
  const auto unstated = check(dump_of(tensors, attributes));
  ASSERT_TRUE(unstated);
  EXPECT_EQ(unstated->answer, Answer::undecided) << unstated->sentence;
  EXPECT_THAT(unstated->suggestions.front(), HasSubstr("state dtype = fp32 if the kernel"));
  attributes["dtype"] = "fp32";
  const auto stated = check(dump_of(tensors, attributes));
  ASSERT_TRUE(stated);
  EXPECT_EQ(stated->answer, Answer::rounding) << stated->sentence;
  EXPECT_TRUE(stated->notes.empty());
}

TEST(Autocast, RefusesNumbersBeyondNarrowDtype) {
  DumpTensors tensors = autocast({"q"});
  const float large = 1e30F;
  std::memcpy(tensors.data("q").data(), &large, sizeof large);
  Attributes attributes = attributes_of(problem_of());
  attributes["dtype"] = "fp16";
  const auto dump = make_dump("dump", tensors.view(), attributes);
  ASSERT_FALSE(dump);
  EXPECT_THAT(
      to_string(dump.error()),
      HasSubstr("tensor q (F32): element 0 is 1.00000002e+30, beyond the largest fp16 number"));
}

}  // namespace
}  // namespace plumbline
