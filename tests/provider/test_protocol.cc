// Messages survive the wire, and every invalid field of a kernel's description is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

#include "harness/provider/client/device_name.h"
#include "harness/provider/client/worker.h"
#include "harness/provider/description_check.h"
#include "harness/provider/protocol.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

plumbline_description valid_description() {
  plumbline_description d{};
  std::strcpy(d.launched, "flash<64, 128> x 12");
  std::strcpy(d.build_id, "0123abcd");
  std::strcpy(d.tensor_cores, "on");
  d.padding_policy = PLUMBLINE_PADDED_ROWS_ATTENDED;
  d.spec.p_dtype = PLUMBLINE_BF16;
  d.spec.p_prescale = 0x1p8;
  d.spec.s_rounded = PLUMBLINE_F16;
  d.spec.q_prescaled = PLUMBLINE_BF16;
  d.spec.split_partial_dtype = PLUMBLINE_F16;
  d.spec.qk_accumulator = {PLUMBLINE_F32, 1, 25, 16};
  d.spec.pv_accumulator = {PLUMBLINE_F16, 0, 11, 4};
  d.spec.exp2_rel_error = 0.1;
  d.spec.tanh_rel_error = 1e-3;
  d.spec.kv_dequantized_to = PLUMBLINE_TF32;
  d.spec.out_dtype = PLUMBLINE_BF16;
  d.spec.lse_base = 2;
  d.spec.lse_excludes_sink = 1;
  d.promises = {0, 2, 1, 0, 2, 1, 0, 2};
  d.registers_per_thread = 168;
  d.spill_bytes_per_thread = 0;
  d.shared_memory_bytes = std::int64_t{1} << 33;
  d.stack_bytes_per_thread = -1;
  std::strcpy(d.device_arch, "sm_90");
  d.more_roundings = {.struct_size = sizeof d.more_roundings,
                      .p_normalized = 1,
                      .p_max = PLUMBLINE_P_MAX_BF16,
                      .p_toward_zero = 1,
                      .s_rounded_twice = 1,
                      .q_prescaled_without_log2e = 1,
                      .o_between_tiles = PLUMBLINE_F16,
                      .out_toward_zero = 1,
                      .lse_dtype = PLUMBLINE_BF16,
                      .ring_update = 1,
                      .reciprocal_rel_error = 0x1p-12,
                      .s_rounded_before_bias = 1,
                      .s_rounded_before_softcap = 0,
                      .inputs_toward_zero = 1,
                      .lse_without_row_bias = 1,
                      .product_rel_error = 0x1p-15,
                      .skipped_below = 1e-4,
                      .p_stochastic = 0,
                      .out_stochastic = 0};
  return d;
}

// Returns a description whose flags exclude some of valid_description().
plumbline_description description_with_other_flags() {
  plumbline_description d = valid_description();
  plumbline_more_roundings& more = d.more_roundings;
  more.p_toward_zero = more.out_toward_zero = more.s_rounded_before_bias = 0;
  more.p_stochastic = more.out_stochastic = more.s_rounded_before_softcap = 1;
  more.p_normalized = 0;
  d.spec.denominator_from_rounded_p = 1;
  return d;
}

TEST(Protocol, DescriptionRoundTrips) {
  const plumbline_description sent = valid_description();
  ASSERT_EQ(description_fault(sent), "");
  const auto arrived =
      nlohmann::json::parse(nlohmann::json(sent).dump()).get<plumbline_description>();
  const Description d = to_description(arrived);
  EXPECT_EQ(d.launched, "flash<64, 128> x 12");
  EXPECT_EQ(d.build_id, "0123abcd");
  EXPECT_EQ(d.tensor_cores, "on");
  EXPECT_EQ(d.padding_policy, PaddingPolicy::attended);
  RoundingSpec spec;
  spec.p_dtype = DType::bf16;
  spec.p_prescale = 256;
  spec.s_rounded = DType::f16;
  spec.q_prescaled = DType::bf16;
  spec.split_partial_dtype = DType::f16;
  spec.qk_accumulator = {DType::f32, true, 25, 16};
  spec.pv_accumulator = {DType::f16, false, 11, 4};
  spec.exp2_rel_error = 0.1;
  spec.tanh_rel_error = 1e-3;
  spec.kv_dequantized_to = DType::tf32;
  spec.out_dtype = DType::bf16;
  spec.lse_base = 2;
  spec.lse_includes_sink = false;
  spec.p_normalized = spec.p_toward_zero = spec.s_rounded_twice = true;
  spec.p_max = MaximumOfP::bf16;
  spec.q_prescaled_without_log2e = spec.out_toward_zero = true;
  spec.o_between_tiles = DType::f16;
  spec.lse_dtype = DType::bf16;
  spec.reciprocal_rel_error = 0x1p-12;
  spec.ring_update = spec.inputs_toward_zero = true;
  spec.s_rounded_before_bias = spec.lse_without_row_bias = true;
  spec.product_rel_error = 0x1p-15, spec.skipped_below = 1e-4;
  EXPECT_EQ(d.spec, spec);
  EXPECT_EQ(d.promises,
            (Promises{Promise::bitwise, Promise::rounding, Promise::none, Promise::bitwise,
                      Promise::rounding, Promise::none, Promise::bitwise}));
  EXPECT_EQ(d.registers_per_thread, 168);
  EXPECT_EQ(d.spill_bytes_per_thread, 0);
  EXPECT_EQ(d.shared_memory_bytes, std::int64_t{1} << 33);
  EXPECT_EQ(d.stack_bytes_per_thread, -1);
  EXPECT_EQ(d.device_arch, "sm_90");

  const plumbline_description other = description_with_other_flags();
  ASSERT_EQ(description_fault(other), "");
  spec.p_toward_zero = spec.out_toward_zero = spec.s_rounded_before_bias = false;
  spec.p_stochastic = spec.out_stochastic = spec.s_rounded_before_softcap = true;
  spec.p_normalized = false, spec.denominator_from_rounded_p = true;
  EXPECT_EQ(to_description(
                nlohmann::json::parse(nlohmann::json(other).dump()).get<plumbline_description>())
                .spec,
            spec);
}

// For workers written before these fields existed.
TEST(Protocol, LaterFieldsMayBeAbsent) {
  nlohmann::json description = valid_description();
  description.erase("device_arch");
  EXPECT_EQ(to_description(description.get<plumbline_description>()).device_arch, "");
  description.erase("more_roundings");
  const RoundingSpec spec = to_description(description.get<plumbline_description>()).spec;
  EXPECT_FALSE(spec.p_normalized);
  EXPECT_EQ(spec.p_max, MaximumOfP::running);
  EXPECT_EQ(spec.lse_dtype, DType::none);
  nlohmann::json hello = protocol::HelloReply{};
  hello.erase("tensor_cores");
  EXPECT_TRUE(hello.get<protocol::HelloReply>().tensor_cores.empty());
  hello["tensor_cores"] = {"on", "off"};
  EXPECT_EQ(hello.get<protocol::HelloReply>().tensor_cores,
            (std::vector<std::string>{"on", "off"}));
  hello.erase("questions");
  EXPECT_TRUE(hello.get<protocol::HelloReply>().questions.empty()) << "attention, all of them";
}

TEST(Protocol, RefusesFractionForInteger) {
  nlohmann::json reply = protocol::RunReply{};
  EXPECT_NO_THROW(protocol::read_message<protocol::RunReply>(reply));
  reply["workspace_bytes"] = 1e300;
  EXPECT_THROW(protocol::read_message<protocol::RunReply>(reply), nlohmann::json::type_error);
  nlohmann::json description = valid_description();
  description["spec"]["qk_accumulator"]["fraction_bits"] = 0.5;
  EXPECT_THROW(protocol::read_message<plumbline_description>(description),
               nlohmann::json::type_error);
  nlohmann::json request = protocol::form_of<protocol::RunRequest>();
  EXPECT_NO_THROW(protocol::read_message<protocol::RunRequest>(request));
  request["tensors"][0]["extent"][0] = 1e40;
  EXPECT_THROW(protocol::read_message<protocol::RunRequest>(request), nlohmann::json::type_error);
}

TEST(Protocol, ReplyWithoutOrWithInvalidDescription) {
  protocol::RunReply sent;
  sent.id = 7;
  EXPECT_FALSE(
      nlohmann::json::parse(protocol::to_line(sent)).get<protocol::RunReply>().description);
  sent.description = valid_description();
  nlohmann::json json = nlohmann::json::parse(protocol::to_line(sent));
  const auto arrived = json.get<protocol::RunReply>();
  ASSERT_TRUE(arrived.description);
  EXPECT_STREQ(arrived.description->launched, "flash<64, 128> x 12");
  EXPECT_EQ(arrived.description_error, "");

  json["description"]["spec"].erase("p_dtype");
  const auto spoilt = json.get<protocol::RunReply>();
  EXPECT_EQ(spoilt.id, 7u);
  EXPECT_FALSE(spoilt.description);
  EXPECT_THAT(spoilt.description_error, HasSubstr("p_dtype"));
}

struct BadField {
  const char* message;
  std::function<void(plumbline_description&)> spoil;
};

TEST(Protocol, EveryFieldOfADescriptionIsChecked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<BadField> bad{
      {"launched does not end with a NUL",
       [](auto& d) { std::memset(d.launched, 'x', sizeof d.launched); }},
      {"build_id does not end with a NUL",
       [](auto& d) { std::memset(d.build_id, 'x', sizeof d.build_id); }},
      {"tensor_cores does not end with a NUL",
       [](auto& d) { std::memset(d.tensor_cores, 'x', sizeof d.tensor_cores); }},
      {"device_arch does not end with a NUL",
       [](auto& d) { std::memset(d.device_arch, 'x', sizeof d.device_arch); }},
      {"tensor_cores is \"maybe\"", [](auto& d) { std::strcpy(d.tensor_cores, "maybe"); }},
      {"tensor_cores is \"\"", [](auto& d) { d.tensor_cores[0] = '\0'; }},
      {"padding_policy has no meaning 4", [](auto& d) { d.padding_policy = 4; }},
      {"p_dtype has no meaning 77", [](auto& d) { d.spec.p_dtype = 77; }},
      {"p_dtype has no meaning 0", [](auto& d) { d.spec.p_dtype = PLUMBLINE_DTYPE_NONE; }},
      {"s_rounded has no meaning 8", [](auto& d) { d.spec.s_rounded = PLUMBLINE_I32; }},
      {"p_dtype has no meaning 8", [](auto& d) { d.spec.p_dtype = PLUMBLINE_I32; }},
      {"p_prescale is -3", [](auto& d) { d.spec.p_prescale = -3; }},
      {"p_prescale is 0", [](auto& d) { d.spec.p_prescale = 0; }},
      {"p_prescale is nan", [=](auto& d) { d.spec.p_prescale = nan; }},
      {"denominator_from_rounded_p has no meaning 2",
       [](auto& d) { d.spec.denominator_from_rounded_p = 2; }},
      {"s_rounded has no meaning 9", [](auto& d) { d.spec.s_rounded = 9; }},
      {"q_prescaled has no meaning 9", [](auto& d) { d.spec.q_prescaled = 9; }},
      {"split_partial_dtype has no meaning 0", [](auto& d) { d.spec.split_partial_dtype = 0; }},
      {"qk_accumulator.dtype has no meaning 3",
       [](auto& d) { d.spec.qk_accumulator.dtype = PLUMBLINE_BF16; }},
      {"qk_accumulator.toward_zero has no meaning 2",
       [](auto& d) { d.spec.qk_accumulator.toward_zero = 2; }},
      {"pv_accumulator.fraction_bits is 0",
       [](auto& d) { d.spec.pv_accumulator.fraction_bits = 0; }},
      {"pv_accumulator.products_per_step is 0",
       [](auto& d) { d.spec.pv_accumulator.products_per_step = 0; }},
      {"exp2_rel_error is nan", [=](auto& d) { d.spec.exp2_rel_error = nan; }},
      {"exp2_rel_error is -1", [](auto& d) { d.spec.exp2_rel_error = -1; }},
      {"tanh_rel_error is inf",
       [](auto& d) { d.spec.tanh_rel_error = std::numeric_limits<double>::infinity(); }},
      {"kv_dequantized_to has no meaning 8",
       [](auto& d) { d.spec.kv_dequantized_to = PLUMBLINE_I32; }},
      {"out_dtype has no meaning 0", [](auto& d) { d.spec.out_dtype = 0; }},
      {"p_normalized has no meaning 2", [](auto& d) { d.more_roundings.p_normalized = 2; }},
      {"p_max has no meaning 5", [](auto& d) { d.more_roundings.p_max = 5; }},
      {"p_toward_zero has no meaning 7", [](auto& d) { d.more_roundings.p_toward_zero = 7; }},
      {"s_rounded_twice has no meaning 2", [](auto& d) { d.more_roundings.s_rounded_twice = 2; }},
      {"q_prescaled_without_log2e has no meaning 2",
       [](auto& d) { d.more_roundings.q_prescaled_without_log2e = 2; }},
      {"o_between_tiles has no meaning 8",
       [](auto& d) { d.more_roundings.o_between_tiles = PLUMBLINE_I32; }},
      {"out_toward_zero has no meaning 2", [](auto& d) { d.more_roundings.out_toward_zero = 2; }},
      {"lse_dtype has no meaning 9", [](auto& d) { d.more_roundings.lse_dtype = 9; }},
      {"reciprocal_rel_error is 1", [](auto& d) { d.more_roundings.reciprocal_rel_error = 1; }},
      {"ring_update has no meaning 2", [](auto& d) { d.more_roundings.ring_update = 2; }},
      {"skipped_below is 1", [](auto& d) { d.more_roundings.skipped_below = 1; }},
      {"product_rel_error is -1", [](auto& d) { d.more_roundings.product_rel_error = -1; }},
      {"p_toward_zero and p_stochastic exclude each other; state the one that the kernel does",
       [](auto& d) { d.more_roundings.p_stochastic = 1; }},
      {"out_toward_zero and out_stochastic exclude each other",
       [](auto& d) { d.more_roundings.out_stochastic = 1; }},
      {"s_rounded_before_bias and s_rounded_before_softcap exclude each other",
       [](auto& d) { d.more_roundings.s_rounded_before_softcap = 1; }},
      {"p_normalized and denominator_from_rounded_p exclude each other",
       [](auto& d) { d.spec.denominator_from_rounded_p = 1; }},
      {"s_rounded_twice changes nothing, because S is not rounded; state s_rounded",
       [](auto& d) { d.spec.s_rounded = PLUMBLINE_DTYPE_NONE; }},
      {"q_prescaled_without_log2e changes nothing, because the scaled Q is not rounded",
       [](auto& d) { d.spec.q_prescaled = PLUMBLINE_DTYPE_NONE; }},
      {"inputs_toward_zero changes nothing, because the inputs are not rounded to tf32",
       [](auto& d) { d.spec.kv_dequantized_to = PLUMBLINE_BF16; }},
      {"lse_base has no meaning 10", [](auto& d) { d.spec.lse_base = 10; }},
      {"lse_excludes_sink has no meaning 2", [](auto& d) { d.spec.lse_excludes_sink = 2; }},
      {"promises.run_to_run has no meaning 3", [](auto& d) { d.promises.run_to_run = 3; }},
      {"promises.lse has no meaning 4", [](auto& d) { d.promises.lse = 4; }},
      {"registers_per_thread is -2", [](auto& d) { d.registers_per_thread = -2; }},
      {"shared_memory_bytes is -5", [](auto& d) { d.shared_memory_bytes = -5; }},
  };
  for (const BadField& field : bad) {
    plumbline_description d = valid_description();
    field.spoil(d);
    EXPECT_THAT(description_fault(d), HasSubstr(std::string("description: ") + field.message));
  }
}

TEST(Protocol, DeclaredOutputsAreChecked) {
  EXPECT_EQ(outputs_fault({"a", "b"}, {{}, {"max_logit"}}), "");
  EXPECT_EQ(outputs_fault({"a", "b"}, {{}}), "2 kernels, but 1 entries of outputs");
  EXPECT_EQ(outputs_fault({"a", "b"}, {{}, {"max_logit", "entropy"}}),
            "kernel b declares the output \"entropy\"; beyond out and lse there are: max_logit");
  EXPECT_THAT(outputs_fault({"a"}, {{"lse"}}), HasSubstr("declares the output \"lse\""));
}

// A kernel for several dtypes may also state its flags in problems of fp32.
TEST(Protocol, FlagsMayDescribeRoundingToFp32) {
  plumbline_description d = valid_description();
  d.spec.p_dtype = d.spec.s_rounded = d.spec.q_prescaled = d.spec.out_dtype = PLUMBLINE_F32;
  EXPECT_EQ(description_fault(d), "");
}

TEST(Protocol, AnyReasonFitsOneLine) {
  protocol::RunReply reply;
  reply.reason = "two\nlines, \"quotes\" and \xff";
  const std::string line = protocol::to_line(reply);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(line).at("reason"), "two\nlines, \"quotes\" and \xEF\xBF\xBD");
}

TEST(Protocol, ProblemRoundTripsBitwise) {
  plumbline_problem p{};
  p.scale = 1 / std::sqrt(80.0);
  p.window_left = -1;
  p.total_kv = std::int64_t{1} << 40;
  const auto arrived = nlohmann::json::parse(nlohmann::json(p).dump()).get<plumbline_problem>();
  EXPECT_EQ(arrived.scale, p.scale);
  EXPECT_EQ(arrived.window_left, -1);
  EXPECT_EQ(arrived.total_kv, p.total_kv);
}

TEST(DeviceName, Parses) {
  const auto cpu = parse_device("cpu");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->memory_space, PLUMBLINE_HOST);
  EXPECT_EQ(cpu->arch, "x86-64-v3");
  const auto cuda = parse_device("cuda:12");
  ASSERT_TRUE(cuda);
  EXPECT_EQ(cuda->memory_space, PLUMBLINE_CUDA);
  EXPECT_EQ(cuda->ordinal, 12);
  const auto emulated = parse_device("emulated:sm_90");
  ASSERT_TRUE(emulated);
  EXPECT_EQ(emulated->memory_space, PLUMBLINE_EMULATED);
  EXPECT_EQ(emulated->arch, "emulated:sm_90");
}

TEST(DeviceName, RefusesInvalidNames) {
  for (const char* name : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:0",
                           "emulated", "emulated:", "emulated:an_architecture_with_a_long_name"}) {
    EXPECT_FALSE(parse_device(name)) << name;
  }
}

TEST(Words, StatusesParseBack) {
  for (const Status status : all<Status>()) EXPECT_EQ(parse<Status>(name(status)), status);
  EXPECT_EQ(name(Status::out_of_memory), "out_of_memory");
  EXPECT_FALSE(parse<Status>("fine"));
  EXPECT_EQ(name(PaddingPolicy::untouched), "untouched");
  EXPECT_EQ(name(Promise::rounding), "rounding");
}

}  // namespace
}  // namespace plumbline
