// Tests that errors name the tensor or attribute, what was found and what would fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "harness/check/dump.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::DumpTensors;
using test::run_emulated;

Problem padded() {
  Problem problem;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 6;
  problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  return problem;
}

Problem fp8() {
  Problem problem = padded();
  problem.dtype = DType::e4m3;
  return problem;
}

Problem of(Layout layout) {
  Problem problem = padded();
  problem.layout = layout;
  problem.lengths = Lengths::random;
  return problem;
}

struct Mistake {
  const char* name;
  Problem problem;
  std::function<void(DumpTensors&)> make;
  Attributes attributes;
  std::vector<std::string> says;  // substrings of the error
};

void cut(DumpTensors& tensors, const std::string& name, std::size_t bytes) {
  tensors.data(name).resize(tensors.data(name).size() - bytes);
}
void set_integer(DumpTensors& tensors, const std::string& name, std::size_t index,
                 std::int32_t value) {
  reinterpret_cast<std::int32_t*>(tensors.data(name).data())[index] = value;
}
const auto nothing = [](DumpTensors&) {};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      {"missing q",
       padded(),
       [](DumpTensors& t) { t.erase("q"); },
       {},
       {"tensor q is missing", "k, lse, out, v"}},
      {"missing k", padded(), [](DumpTensors& t) { t.erase("k"); }, {}, {"tensor k is missing"}},
      {"no tensors",
       padded(),
       [](DumpTensors& t) { t = {}; },
       {},
       {"tensor q is missing", "has none"}},
      {"head dims differ",
       padded(),
       [](DumpTensors& t) {
         t.shape("k") = {2, 20, 4, 8};
       },
       {{"layout", "padded_bshd"}},
       {"the head dimension of q [2, 6, 4, 16] is 16", "k [2, 20, 4, 8] is 8"}},
      {"heads do not divide",
       padded(),
       [](DumpTensors& t) {
         t.shape("q") = {2, 8, 3, 16};
       },
       {{"layout", "padded_bshd"}},
       {"3 heads", "not a multiple of the 2"}},
      {"wrong rank",
       padded(),
       [](DumpTensors& t) { t.shape("v") = {640 * 2}; },
       {{"layout", "padded_bshd"}},
       {"v [1280] has rank 1"}},
      {"fits no layout",
       padded(),
       [](DumpTensors& t) {
         t.shape("out") = {2, 4, 3, 32};
       },
       {},
       {"as padded_bshd", "as padded_bhsd"}},
      {"bytes missing",
       padded(),
       [](DumpTensors& t) { cut(t, "k", 2); },
       {},
       {"tensor k: shape [2, 20, 2, 16] of BF16 does not match its"}},
      {"negative extent",
       padded(),
       [](DumpTensors& t) { t.shape("k")[0] = -2; },
       {},
       {"tensor k: shape [-2, 20, 2, 16]"}},
      {"overflowing shape",
       padded(),
       [](DumpTensors& t) {
         t.shape("k") = {std::int64_t{1} << 62, 1 << 30, 2, 16};
       },
       {},
       {"does not match its"}},
      {"unknown dtype",
       padded(),
       [](DumpTensors& t) { t.dtype("q") = "F4"; },
       {},
       {"tensor q: unknown dtype \"F4\""}},
      {"integers as q",
       padded(),
       [](DumpTensors& t) { t.dtype("q") = "I16"; },
       {},
       {"tensor q has dtype I16", "write it as F32, F16, BF16 or fp8"}},
      {"fp8 output",
       fp8(),
       [](DumpTensors& t) {
         t.set("out", "F8_E4M3", {2, 6, 4, 16}, std::vector<std::byte>(768));
       },
       {},
       {"tensor out_scale is missing: out is fp8", "save the factor"}},
      {"fp8 without its scale",
       fp8(),
       [](DumpTensors& t) { t.erase("q_scale"); },
       {},
       {"tensor q_scale is missing: q is fp8", "1.0 if there is none"}},
      {"a scale of what is not fp8",
       padded(),
       [](DumpTensors& t) { t.set("v_scale", "F32", {1}, std::vector<std::byte>(4)); },
       {},
       {"tensor v_scale is there, but v is not fp8", "leave it out"}},
      {"scales of other heads",
       fp8(),
       [](DumpTensors& t) {
         t.set("k_scale", "F32", {2, 3}, std::vector<std::byte>(24));
       },
       {},
       {"tensor k_scale has shape [2, 3]", "one element, [2], [2, 2] or [2, 2, blocks]"}},
      {"blocks of unknown size",
       fp8(),
       [](DumpTensors& t) {
         t.set("k_scale", "F32", {2, 2, 3}, std::vector<std::byte>(48));
       },
       {},
       {"tensor k_scale has 3 blocks for 20 tokens", "state scale_block"}},
      {"too few blocks",
       fp8(),
       [](DumpTensors& t) {
         t.set("k_scale", "F32", {2, 2, 3}, std::vector<std::byte>(48));
       },
       {{"scale_block", "5"}},
       {"tensor k_scale has 3 blocks of 5 tokens for 20 tokens"}},
      {"a block size without blocks",
       fp8(),
       nothing,
       {{"scale_block", "5"}},
       {"attribute scale_block: no scale has blocks"}},
      {"a block size of 0",
       fp8(),
       nothing,
       {{"scale_block", "0"}},
       {"\"0\" is not a number of tokens"}},
      {"a scale of 0",
       fp8(),
       [](DumpTensors& t) { t.set("v_scale", "F32", {1}, std::vector<std::byte>(4)); },
       {},
       {"tensor v_scale: element 0 is 0", "finite and above 0"}},
      {"output in fp8",
       padded(),
       [](DumpTensors& t) {
         t.set("out", "F8_E5M2", {2, 6, 4, 16}, std::vector<std::byte>(768));
       },
       {},
       {"tensor out_scale is missing: out is fp8", "save the factor"}},
      {"k in fp8 beside v in bf16",
       padded(),
       [](DumpTensors& t) {
         t.set("k", "F8_E4M3", {2, 20, 2, 16}, std::vector<std::byte>(1280));
       },
       {},
       {"tensor k is F8_E4M3, v is BF16, q is BF16", "save what the kernel saw"}},
      {"zero heads",
       padded(),
       [](DumpTensors& t) {
         for (const char* n : {"q", "k", "v", "out"}) t.set(n, "BF16", {2, 6, 0, 16}, {});
         t.erase("lse");
       },
       {{"layout", "padded_bshd"}},
       {"heads_q: \"0\" is not an integer from 1"}},
      {"lse of another shape",
       padded(),
       [](DumpTensors& t) {
         t.shape("lse") = {2, 24};
       },
       {},
       {"tensor lse [2, 24] is neither [2, 6, 4] nor [2, 4, 6]"}},
      {"lse in 16 bits",
       padded(),
       [](DumpTensors& t) {
         t.dtype("lse") = "BF16";
         t.shape("lse") = {2, 6, 8};
       },
       {},
       {"tensor lse has dtype BF16"}},
      {"bias",
       padded(),
       [](DumpTensors& t) { t.set("attn_bias", "F32", {1}, std::vector<std::byte>(4)); },
       {},
       {"tensor attn_bias [1] does not fit batch 2, 4 heads, seq_q 6, seq_kv 20"}},
      {"bias of booleans",
       padded(),
       [](DumpTensors& t) {
         t.set("attn_bias", "BOOL", {6, 20}, std::vector<std::byte>(120));
       },
       {},
       {"tensor attn_bias has dtype BOOL", "the tensor mask"}},
      {"slopes of other heads",
       padded(),
       [](DumpTensors& t) { t.set("alibi_slopes", "F32", {3}, std::vector<std::byte>(12)); },
       {},
       {"tensor alibi_slopes has shape [3]", "[4] or [2, 4]"}},
      {"slopes as integers",
       padded(),
       [](DumpTensors& t) { t.set("alibi_slopes", "I32", {4}, std::vector<std::byte>(16)); },
       {},
       {"tensor alibi_slopes has dtype I32", "F32, F16 or BF16"}},
      {"a sink that is no number",
       padded(),
       [](DumpTensors& t) {
         t.set("s_aux", "F32", {4}, std::vector<std::byte>(16, std::byte{255}));
       },
       {},
       {"tensor sinks: element 0 is", "finite numbers"}},
      {"lengths too long",
       padded(),
       [](DumpTensors& t) {
         t.set_integers("seqlens_kv", {2}, {20, 21});
       },
       {},
       {"length of kv in sample 1 is 21", "20 positions"}},
      {"negative length",
       padded(),
       [](DumpTensors& t) {
         t.set_integers("seqlens_kv", {2}, {-1, 20});
       },
       {},
       {"tensor seqlens_kv: element 0 is -1"}},
      {"too many lengths",
       padded(),
       [](DumpTensors& t) {
         t.set_integers("seqlens_kv", {3}, {1, 2, 3});
       },
       {},
       {"lengths of 3 samples, but the batch has 2"}},
      {"lengths as numbers",
       padded(),
       [](DumpTensors& t) { t.set("seqlens_kv", "F32", {2}, std::vector<std::byte>(8)); },
       {},
       {"tensor seqlens_kv has dtype F32", "I32 or I64"}},
      {"unknown layout",
       padded(),
       nothing,
       {{"layout", "padded_bhsq"}},
       {"attribute layout", "did you mean padded_bhsd?"}},
      {"unknown mask",
       padded(),
       nothing,
       {{"mask", "triangular"}},
       {"attribute mask: \"triangular\"", "causal_bottom_right"}},
      {"causal of two corners",
       padded(),
       nothing,
       {{"mask", "causal"}},
       {"attribute causal: if queries and keys differ in number", "causal_bottom_right"}},
      {"another causal",
       padded(),
       nothing,
       {{"is_causal", "True"}, {"mask", "causal_bottom_right"}},
       {"attribute is_causal: contradicts mask = causal_bottom_right", "causal_top_left"}},
      {"scale of nothing", padded(), nothing, {{"scale", "0"}}, {"attribute scale: \"0\""}},
      {"scale that is no number",
       padded(),
       nothing,
       {{"scale", "nan"}},
       {"attribute scale: \"nan\""}},
      {"window of words", padded(), nothing, {{"window", "left"}}, {"attribute window"}},
      {"softcap",
       padded(),
       nothing,
       {{"softcap", "-50"}},
       {"attribute softcap: \"-50\" is not a number from 0 on"}},
      {"misspelt attribute",
       padded(),
       nothing,
       {{"scael", "0.5"}},
       {"attribute scael: is not known", "did you mean scale?"}},
      {"causal and none",
       padded(),
       nothing,
       {{"mask", "none"}, {"causal", "true"}},
       {"contradicts mask = none"}},
      {"several at once",
       padded(),
       nothing,
       {{"lse_base", "10"}, {"padding", "both"}},
       {"attribute lse_base", "attribute padding"}},
      {"dtype that does not hold the numbers",
       [] {
         Problem p = padded();
         p.dtype = DType::f32;
         return p;
       }(),
       nothing,
       {{"dtype", "bf16"}},
       {"tensor q (F32): element", "which is no bf16 number"}},
      {"wider dtype",
       padded(),
       nothing,
       {{"dtype", "fp32"}},
       {"attribute dtype: fp32 is wider than q"}},
      {"offsets that fall",
       of(Layout::ragged),
       [](DumpTensors& t) { set_integer(t, "cu_seqlens_q", 1, 100); },
       {},
       {"tensor cu_seqlens_q falls from 100"}},
      {"offsets that start late",
       of(Layout::ragged),
       [](DumpTensors& t) { set_integer(t, "cu_seqlens_q", 0, 1); },
       {},
       {"starts at 1, not at 0"}},
      {"offsets beyond the rows",
       of(Layout::ragged),
       [](DumpTensors& t) { set_integer(t, "cu_seqlens_kv", 2, 1000); },
       {},
       {"add up to 1000"}},
      {"ragged without offsets",
       of(Layout::ragged),
       [](DumpTensors& t) { t.erase("cu_seqlens_kv"); },
       {},
       {"needs the lengths of kv"}},
      {"ragged with a mask that is too short",
       of(Layout::ragged),
       [](DumpTensors& t) {
         t.set("mask", "BOOL", {2, 1, 6, 19}, std::vector<std::byte>(228));
       },
       {},
       {"tensor mask [2, 1, 6, 19] does not fit batch 2, 4 heads"}},
      {"page that is not there",
       of(Layout::paged_nhd),
       [](DumpTensors& t) { set_integer(t, "page_table", 0, 99); },
       {},
       {"tensor page_table: entry 0 of sample 0 is 99"}},
      {"too few pages",
       of(Layout::paged_nhd),
       [](DumpTensors& t) {
         t.set_integers("page_table", {2, 1}, {0, 1});
       },
       {},
       {"page_table has 1"}},
      {"page table of another batch",
       of(Layout::paged_nhd),
       [](DumpTensors& t) {
         t.shape("page_table")[0] *= 2;
         t.shape("page_table")[1] /= 2;
       },
       {},
       {"tensor page_table"}},
      {"paged without a table",
       of(Layout::paged_hnd),
       [](DumpTensors& t) { t.erase("page_table"); },
       {{"layout", "paged_hnd"}},
       {"needs a page_table"}},
      {"joint cache",
       of(Layout::paged_nhd),
       [](DumpTensors& t) { t.shape("k").insert(t.shape("k").begin() + 1, 1); },
       {{"layout", "paged_nhd"}},
       {"split a joint K and V cache"}},
  };
  return all;
}

class DumpMistake : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, DumpMistake, testing::Range(std::size_t{0}, mistakes().size()),
                         [](const auto& test) {
                           std::string name = mistakes()[test.param].name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_P(DumpMistake, ErrorHasRemedy) {
  const Mistake& mistake = mistakes()[GetParam()];
  DumpTensors tensors = run_emulated(mistake.problem, {});
  ASSERT_TRUE(
      make_dump("dump", tensors.view(), {{"layout", std::string(name(mistake.problem.layout))}}))
      << "is fine without the mistake";
  mistake.make(tensors);
  const auto dump = make_dump("the dump", tensors.view(), mistake.attributes);
  ASSERT_FALSE(dump);
  const std::string text = to_string(dump.error());
  for (const std::string& part : mistake.says) EXPECT_THAT(text, testing::HasSubstr(part));
  for (const Error& error : dump.error()) {
    EXPECT_EQ(error.file, "the dump");
    EXPECT_FALSE(error.remedy.empty()) << error.message;
  }
}

}  // namespace
}  // namespace plumbline
