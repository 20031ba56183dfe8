// Contracts that depend on the dtype of Q, and what a spec says of P in other dtypes.
#include "harness/contract/contract.h"
#include "harness/problem/problem.h"
#include "tests/judge/files.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Contracts contracts_in(const std::string& text) {
  const auto contracts = Contracts::read(TemporaryFile(text).path());
  if (!contracts) ADD_FAILURE() << to_string(contracts.error());
  return contracts.value_or(Contracts{});
}

std::vector<std::string> complaints_about(const std::string& text) {
  const auto contracts = Contracts::read(TemporaryFile(text).path());
  return contracts ? std::vector<std::string>{} : lines_and_messages(contracts.error());
}

Problem problem_in(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  return problem;
}

constexpr const char* by_dtype = R"(
[[contract]]
kernel = "mine/k"
dtype = "fp16"
reason = "half"
spec = { denominator_from_rounded_p = true }
limits = { peak = 5 }
[[contract]]
kernel = "mine/*"
dtype = ["bf16", "e4m3"]
reason = "wide"
spec = { p_dtype = "fp32" }
[[contract]]
kernel = "mine/k"
dtype = "fp32"
reason = "single"
)";

TEST(ContractsByDtype, DtypeOfQChooses) {
  const Contracts contracts = contracts_in(by_dtype);
  const auto reason = [&](DType dtype) {
    const Contract* found = contracts.find("mine/k", {}, dtype);
    return found == nullptr ? "" : found->reason;
  };
  EXPECT_EQ(reason(DType::f16), "half");
  EXPECT_EQ(reason(DType::bf16), "wide");
  EXPECT_EQ(reason(DType::e4m3), "wide");
  EXPECT_EQ(reason(DType::f32), "single");
  EXPECT_EQ(reason(DType::e5m2), "");
  EXPECT_EQ(reason(DType::none), "half") << "the first that matches otherwise";
  EXPECT_EQ(contracts.find("mine/other", {}, DType::f16), nullptr);
}

TEST(ContractsByDtype, SpecAndLimitsFollowDtype) {
  const Contracts contracts = contracts_in(by_dtype);
  const auto spec = [&](DType dtype) { return contracts.pinned_spec("mine/k", problem_in(dtype)); };
  EXPECT_TRUE(spec(DType::f16).denominator_from_rounded_p);
  EXPECT_EQ(spec(DType::f16).p_dtype, DType::f16);
  EXPECT_FALSE(spec(DType::bf16).denominator_from_rounded_p);
  EXPECT_EQ(spec(DType::bf16).p_dtype, DType::f32);
  EXPECT_EQ(spec(DType::e5m2), strict_spec(problem_in(DType::e5m2)));
  EXPECT_EQ(contracts.limits("mine/k", problem_in(DType::f16), 1000).peak, 5);
  EXPECT_EQ(contracts.limits("mine/k", problem_in(DType::bf16), 1000).peak, 6.5);
}

TEST(ContractsByDtype, FirstMatchCounts) {
  const Contracts contracts = contracts_in(R"(
[[contract]]
kernel = "mine/*"
dtype = ["fp16", "bf16"]
reason = "narrow"
[[contract]]
kernel = "mine/k"
reason = "all"
)");
  EXPECT_EQ(contracts.find("mine/k", {}, DType::bf16)->reason, "narrow");
  EXPECT_EQ(contracts.find("mine/k", {}, DType::f32)->reason, "all");
  EXPECT_EQ(contracts.find("mine/other", {}, DType::f32), nullptr);
}

TEST(ContractsByDtype, ShadowedDtypeIsError) {
  EXPECT_THAT(complaints_about(R"([[contract]]
kernel = "mine/*"
dtype = ["fp16", "bf16"]
reason = "r"
[[contract]]
kernel = "mine/k"
dtype = "bf16"
reason = "never used"
[[contract]]
kernel = "mine/k"
dtype = ["bf16", "fp32"]
reason = "used for fp32"
[[contract]]
kernel = "mine/k"
reason = "used for fp8"
[[contract]]
kernel = "mine/k"
dtype = "e4m3"
reason = "never used"
)"),
              ElementsAre("5: the contract of mine/k is never used: \"mine/*\" on line 1 matches "
                          "first",
                          "16: the contract of mine/k is never used: \"mine/k\" on line 13 matches "
                          "first"));
}

TEST(ContractsByDtype, UnknownDtypesAreErrors) {
  EXPECT_THAT(complaints_about(R"([[contract]]
kernel = "mine/k"
dtype = ["fp16", "fp17", "tf32", "int32", "none"]
reason = "r"
)"),
              ElementsAre("3: dtype: \"fp17\" is not a dtype of Q",
                          "3: dtype: \"tf32\" is not a dtype of Q",
                          "3: dtype: \"int32\" is not a dtype of Q",
                          "3: dtype: \"none\" is not a dtype of Q"));
  EXPECT_THAT(complaints_about("[[contract]]\nkernel = \"k\"\ndtype = 16\nreason = \"r\"\n"),
              ElementsAre(HasSubstr("3: dtype is not a text")));
}

// The factor of P follows the dtype of P, whatever the dtype of Q, unless the contract states it.
TEST(ContractsByDtype, PrescaleFollowsDtypeOfP) {
  const auto prescale = [](const std::string& spec, DType dtype) {
    const Contracts contracts =
        contracts_in("[[contract]]\nkernel = \"k\"\nreason = \"r\"\nspec = { " + spec + " }\n");
    return contracts.pinned_spec("k", problem_in(dtype)).p_prescale;
  };
  EXPECT_EQ(prescale(R"(p_dtype = "fp16")", DType::e4m3), 1);
  EXPECT_EQ(prescale(R"(p_dtype = "e4m3")", DType::bf16), 256);
  EXPECT_EQ(prescale(R"(p_dtype = "input")", DType::e4m3), 256);
  EXPECT_EQ(prescale(R"(p_dtype = "input")", DType::e5m2), 1);
  EXPECT_EQ(prescale(R"(p_dtype = "e4m3", p_prescale = 448)", DType::e4m3), 448);
  EXPECT_EQ(prescale(R"(p_prescale = 448, p_dtype = "e4m3")", DType::e4m3), 448);
  EXPECT_EQ(prescale(R"(p_prescale = 448, p_dtype = "fp16")", DType::e4m3), 448);
}

}  // namespace
}  // namespace plumbline
