// Each field of a rounding spec has words.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

#include "harness/base/enumeration.h"
#include "harness/diagnose/spec_words.h"
#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

void change(spec_kind::Format, DType& field) { field = DType::e5m2; }
void change(spec_kind::Step, DType& field) { field = DType::e5m2; }
void change(spec_kind::Factor, double& field) { field = 448; }
void change(spec_kind::Flag, bool& field) { field = !field; }
void change(spec_kind::Maximum, MaximumOfP& field) { field = MaximumOfP::bf16; }
void change(spec_kind::Sums, Accumulator& field) { field = {DType::f16, false, 10, 1}; }
void change(spec_kind::RelativeError, double& field) { field = 1e-3; }
void change(spec_kind::LseBase, int& field) { field = 2; }

TEST(SpecWords, EachFieldHasWords) {
  const RoundingSpec strict = strict_spec(Problem{});
  RoundingSpec plain = strict;  // rounds everything that a flag may describe
  plain.s_rounded = plain.q_prescaled = DType::bf16;
  plain.kv_dequantized_to = DType::tf32;
  const std::string words = in_words(plain, strict);
  for_each_spec_field([&]<class Kind>(std::string_view field, Kind kind, auto of) {
    if constexpr (std::is_same_v<Kind, spec_kind::FormatOfOut>) return;  // the problem states it
    RoundingSpec changed = plain;
    change(kind, of(changed));
    EXPECT_NE(in_words(changed, strict), words) << field;
  });
}

TEST(SpecWords, EachMaximumHasWords) {
  const RoundingSpec strict = strict_spec(Problem{});
  std::set<std::string> words;
  for (const MaximumOfP maximum : all<MaximumOfP>()) {
    RoundingSpec spec = strict;
    spec.p_max = maximum;
    EXPECT_TRUE(words.insert(in_words(spec, strict)).second) << name(maximum);
  }
}

TEST(SpecWords, SentencesNameEachRounding) {
  const RoundingSpec strict = strict_spec(Problem{});
  EXPECT_EQ(in_words(RoundingSpec{}, RoundingSpec{}), "only the output");
  EXPECT_EQ(in_words(strict, strict), "P to bf16");
  RoundingSpec spec = strict;
  spec.p_dtype = DType::e4m3, spec.p_prescale = 448, spec.p_stochastic = true;
  spec.s_rounded = DType::f16, spec.s_rounded_before_bias = true;
  spec.lse_base = 2, spec.lse_dtype = DType::bf16, spec.product_rel_error = 0x1p-15;
  spec.qk_accumulator = fp8_accumulator;
  EXPECT_EQ(in_words(spec, strict),
            "P times 448 to e4m3 at random, S to fp16 before ALiBi or a bias, the LSE to bf16, an "
            "LSE of base 2, products with a relative error of 3.1e-05, Q K^T summed toward zero "
            "with 13 bits in steps of 16");
}

}  // namespace
}  // namespace plumbline
