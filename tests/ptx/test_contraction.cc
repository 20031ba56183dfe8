// The products and sums that become one fma. The expected numbers are those of FFMA, FADD and FMUL
// from ptxas 13.0 for sm_80, if the results are stored and nothing else is known about the inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/ptx/contraction.h"
#include "emulator/ptx/translate.h"
#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Row {
  std::string_view body;
  int fma, add, mul;
};

// Two products, p and q, that precede the body.
constexpr std::string_view two_products = "mul.f32 %f11, %f1, %f2;\nmul.f32 %f12, %f3, %f4;\n";

void expect_counts(std::string_view before, const Row& row) {
  const auto module = parse(module_text("", std::string(before) + std::string(row.body)));
  ASSERT_TRUE(module) << module.error().text << " in " << row.body;
  const FloatCounts counts = count_floats(*module, module->functions.back(), true);
  EXPECT_EQ(counts.fma, row.fma) << row.body;
  EXPECT_EQ(counts.add + counts.plus_zero, row.add) << row.body;
  EXPECT_EQ(counts.mul, row.mul) << row.body;
  const FloatCounts separate = count_floats(*module, module->functions.back(), false);
  EXPECT_EQ(separate.contracted, 0) << row.body;
}

TEST(ContractPtx, FusesPlainProductAndSum) {
  const Row rows[] = {
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;", 1, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\nsub.f32 %f4, %f5, %f3;", 1, 0, 0},
      {"mul.f32 %f3, %f1, 0f40000000;\nadd.f32 %f4, %f3, 0f00000000;", 1, 0, 0},
      {"mul.ftz.f32 %f3, %f1, %f2;\nadd.ftz.f32 %f4, %f3, %f5;", 1, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\nadd.sat.f32 %f4, %f3, %f5;", 1, 0, 0},
      {"mul.sat.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.rn.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nadd.rn.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.ftz.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nadd.ftz.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f3;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nfma.rn.f32 %f4, %f5, %f6, %f3;", 1, 0, 1},
      {"mul.f32 %f3, %f1, %f2;\nneg.f32 %f6, %f3;\nadd.f32 %f4, %f6, %f5;", 1, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\nmov.f32 %f6, %f3;\nadd.f32 %f4, %f6, %f5;", 1, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\nabs.f32 %f6, %f3;\nadd.f32 %f4, %f6, %f5;", 0, 1, 1},
  };
  for (const Row& row : rows) expect_counts("", row);
}

TEST(ContractPtx, FusesGuardedAndRemoteSums) {
  const Row rows[] = {
      {"mul.f32 %f3, %f1, %f2;\n@%p1 add.f32 %f4, %f3, %f5;", 1, 0, 0},
      {"@%p1 mul.f32 %f3, %f1, %f2;\n@%p1 add.f32 %f4, %f3, %f5;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nbar.sync 0;\nL:\nadd.f32 %f4, %f3, %f5;", 1, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\n@%p1 bra L;\nadd.f32 %f4, %f3, %f5;\nbra M;\nL:\n"
       "sub.f32 %f4, %f3, %f6;\nM:",
       2, 0, 0},
      // the branch decides if %f4 is the product
      {"mul.f32 %f3, %f1, %f2;\nmov.f32 %f4, %f6;\n@%p1 bra L;\nmov.f32 %f4, %f3;\nL:\n"
       "add.f32 %f7, %f4, %f5;",
       0, 1, 1},
  };
  for (const Row& row : rows) expect_counts("", row);
}

// Unlike our translation, ptxas does fuse here: it renames registers so that each is written once.
TEST(ContractPtx, OverwrittenFactorPreventsFusion) {
  expect_counts("", {"mul.f32 %f3, %f1, %f2;\nmov.f32 %f1, 0f00000000;\nmov.f32 %f1, %f6;\n"
                     "add.f32 %f4, %f3, %f5;",
                     0, 1, 1});
}

TEST(ContractPtx, EveryUseMustBeSum) {
  const Row rows[] = {
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nsub.f32 %f6, %f5, %f3;", 2, 0, 0},
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nst.global.f32 [%y1], %f3;", 0, 1, 1},
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nmul.rn.f32 %f6, %f3, %f5;", 0, 1, 2},
      {"mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nfma.rn.f32 %f6, %f5, %f5, %f3;", 1, 1, 1},
  };
  for (const Row& row : rows) expect_counts("", row);
}

TEST(ContractPtx, FusesOneOfTwoProducts) {
  const Row rows[] = {
      {"add.f32 %f20, %f11, %f12;", 1, 0, 1},
      {"add.f32 %f20, %f11, %f12;\nadd.f32 %f21, %f11, %f5;", 1, 1, 1},
      {"add.f32 %f20, %f11, %f12;\nsub.f32 %f21, %f12, %f11;", 2, 0, 1},
      {"add.f32 %f20, %f12, %f11;\nadd.f32 %f21, %f11, %f5;\nadd.f32 %f22, %f12, %f6;", 2, 1, 1},
      {"add.f32 %f21, %f11, %f5;\nadd.f32 %f22, %f12, %f6;\nadd.f32 %f20, %f11, %f12;", 3, 0, 1},
      {"add.f32 %f20, %f11, %f12;\nadd.f32 %f21, %f11, %f5;\nadd.f32 %f22, %f11, %f6;\n"
       "add.f32 %f23, %f12, %f7;",
       2, 2, 1},
      {"mul.f32 %f13, %f5, %f6;\nadd.f32 %f20, %f11, %f12;\nadd.f32 %f21, %f11, %f13;\n"
       "add.f32 %f22, %f12, %f13;",
       2, 1, 2},
  };
  for (const Row& row : rows) expect_counts(two_products, row);
}

// Like ptxas, fuses the first of two products in a sum and multiplies the second separately. A
// subtracted product becomes -a b + c.
TEST(ContractPtx, FmaKeepsSignsAndSaturation) {
  const struct {
    std::string_view body, fused;
  } rows[] = {
      {"add.f32 %f20, %f11, %f12;", "fma<false>(F(v_f1), F(v_f2), F(v_f12))"},
      {"add.f32 %f20, %f12, %f11;", "fma<false>(F(v_f3), F(v_f4), F(v_f11))"},
      {"sub.f32 %f20, %f12, %f11;", "fma<false>(F(v_f3), F(v_f4), -F(v_f11))"},
      {"sub.f32 %f20, %f5, %f11;", "fma<false>(-F(v_f1), F(v_f2), F(v_f5))"},
      {"neg.f32 %f13, %f11;\nsub.f32 %f20, %f5, %f13;", "fma<false>(F(v_f1), F(v_f2), F(v_f5))"},
      {"neg.f32 %f13, %f11;\nsub.f32 %f20, %f13, %f5;", "fma<false>(-F(v_f1), F(v_f2), -F(v_f5))"},
      {"add.sat.f32 %f20, %f11, %f5;", "saturate(fma<false>(F(v_f1), F(v_f2), F(v_f5)))"},
      {"@%p1 add.f32 %f20, %f11, %f5;", "if (v_p1) { v_f20 = u32(fma<false>(F(v_f1), F(v_f2), "},
  };
  for (const auto& [body, fused] : rows) {
    const auto module = parse(module_text("", std::string(two_products) + std::string(body)));
    ASSERT_TRUE(module);
    const auto made = translate(*module, module->functions.back(), {.contract = true});
    ASSERT_TRUE(made);
    EXPECT_THAT(made->source, HasSubstr(fused)) << body;
    EXPECT_EQ(made->contracted, 1) << body;
    const auto separate = translate(*module, module->functions.back(), {.contract = false});
    ASSERT_TRUE(separate);
    EXPECT_THAT(separate->source, Not(HasSubstr("= u32(fma<"))) << body;
  }
}

TEST(ContractPtx, CalledFunctionsAreCountedOnce) {
  const auto module = parse(module_text(
      "", "{\ncall.uni f, ();\n}\n{\ncall.uni f, ();\n}\nadd.rn.f32 %f1, %f2, %f3;",
      ".func f()\n{\n.reg .f32 %f<9>;\nmul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nret;\n}"));
  ASSERT_TRUE(module) << module.error().text;
  const FloatCounts counts = count_floats(*module, module->functions.back(), true);
  EXPECT_EQ(counts.fma, 1);
  EXPECT_EQ(counts.add, 1);
  EXPECT_EQ(counts.mul, 0);
}

}  // namespace
}  // namespace plumbline::ptx
