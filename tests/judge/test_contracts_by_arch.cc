// Contracts that depend on the architecture a case ran on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/judge/judge.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Contracts> read(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("contracts_by_arch_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << "schema = 1\n" << text;
  auto contracts = Contracts::read(path);
  std::filesystem::remove(path);
  return contracts;
}
Contracts read_good(const std::string& text) {
  auto contracts = read(text);
  EXPECT_TRUE(contracts) << to_string(contracts.error());
  return contracts ? std::move(*contracts) : Contracts{};
}
std::vector<std::string> errors_of(const std::string& text) {
  const auto contracts = read(text);
  std::vector<std::string> messages;
  if (contracts) return messages;
  for (const Error& error : contracts.error())
    messages.push_back(std::to_string(error.line) + ": " + error.message);
  return messages;
}
Problem problem_of(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  return problem;
}

const char* tensor_cores = R"([[contract]]
kernel = ["emulated/*_mma", "cuda/*_mma"]
reason = "mma.sync"
proof = "inputs go through cvt to tf32"
spec = { p_dtype = "tensor_core", kv_dequantized_to = "tensor_core", qk_accumulator = "tensor_core", pv_accumulator = "tensor_core" }
)";

TEST(ContractsByArch, TensorCoreFollowsArchAndDtype) {
  const Contracts contracts = read_good(tensor_cores);
  const auto accumulator = [&](std::string_view arch, DType dtype) {
    const RoundingSpec spec =
        contracts.pinned_spec("cuda/prefill_mma", problem_of(dtype), {"cuda:0", std::string(arch)});
    EXPECT_EQ(spec.qk_accumulator, spec.pv_accumulator);
    return spec.pv_accumulator;
  };
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(accumulator("sm_80", dtype), (Accumulator{DType::f32, true, 24, 8}));
    EXPECT_EQ(accumulator("sm_90", dtype), (Accumulator{DType::f32, true, 25, 16}));
    EXPECT_EQ(accumulator("", dtype), tensor_core_accumulator);
    EXPECT_EQ(accumulator("sm_75", dtype), tensor_core_accumulator);
  }
  EXPECT_EQ(accumulator("sm_89", DType::f32), (Accumulator{DType::f32, true, 24, 4}));
  EXPECT_EQ(accumulator("sm_100", DType::f32), (Accumulator{DType::f32, true, 25, 8}));
}

TEST(ContractsByArch, TensorCoresTakeFp32AsTf32) {
  const Contracts contracts = read_good(tensor_cores);
  const RoundingSpec fp32 = contracts.pinned_spec("emulated/decode_mma", problem_of(DType::f32),
                                                  {"emulated:sm_90", "sm_90"});
  EXPECT_EQ(fp32.p_dtype, DType::tf32);
  EXPECT_EQ(fp32.kv_dequantized_to, DType::tf32);
  Problem rows = problem_of(DType::f32);
  rows.seq_q = 16;
  EXPECT_EQ(contracts.limits("emulated/decode_mma", rows, 1000, {"emulated:sm_90", "sm_90"}).rms,
            1.8);
  const RoundingSpec bf16 = contracts.pinned_spec("emulated/decode_mma", problem_of(DType::bf16),
                                                  {"emulated:sm_90", "sm_90"});
  EXPECT_EQ(bf16.p_dtype, DType::bf16);
  EXPECT_EQ(bf16.kv_dequantized_to, DType::none);
}

TEST(ContractsByArch, FirstMatchingArchCounts) {
  const Contracts contracts = read_good(R"([[contract]]
kernel = ["mine/a", "mine/b*"]
arch = ["sm_80", "sm_89"]
reason = "old"
[[contract]]
kernel = "mine/*"
reason = "all"
)");
  EXPECT_EQ(contracts.find("mine/a", {"cuda:0", "sm_80"})->reason, "old");
  EXPECT_EQ(contracts.find("mine/b2", {"cuda:0", "sm_89"})->reason, "old");
  EXPECT_EQ(contracts.find("mine/a", {"cuda:0", "sm_90"})->reason, "all");
  EXPECT_EQ(contracts.find("mine/a")->reason, "all");  // on a CPU
  EXPECT_EQ(contracts.find("mine/c", {"cuda:0", "sm_80"})->reason, "all");
  EXPECT_EQ(contracts.find("yours/c", {"cuda:0", "sm_80"}), nullptr);
}

TEST(ContractsByArch, DeviceRestrictsContract) {
  const Contracts contracts = read_good(R"([[contract]]
kernel = "mine/*"
device = "cuda:*"
arch = "sm_90"
reason = "hopper"
[[contract]]
kernel = "mine/*"
device = ["cuda:*", "emulated:sm_90"]
reason = "gpu"
[[contract]]
kernel = "mine/*"
device = "cpu"
reason = "cpu"
)");
  EXPECT_EQ(contracts.find("mine/k", {"cuda:1", "sm_90"})->reason, "hopper");
  EXPECT_EQ(contracts.find("mine/k", {"cuda:0", "sm_80"})->reason, "gpu");
  EXPECT_EQ(contracts.find("mine/k", {"cuda:0", ""})->reason, "gpu");  // unknown architecture
  EXPECT_EQ(contracts.find("mine/k", {"emulated:sm_90", "sm_90"})->reason, "gpu");
  EXPECT_EQ(contracts.find("mine/k", {"emulated:sm_80", "sm_80"}), nullptr);
  EXPECT_EQ(contracts.find("mine/k", {"cpu", ""})->reason, "cpu");
  EXPECT_EQ(contracts.find("mine/k"), nullptr);  // unknown device
}

TEST(ContractsByArch, ShadowedDeviceIsError) {
  EXPECT_THAT(errors_of(R"([[contract]]
kernel = "a/*"
device = "cuda:*"
reason = "every GPU"
[[contract]]
kernel = "a/k"
device = "cuda:0"
reason = "never used"
[[contract]]
kernel = "a/k"
device = ["cuda:0", "cpu"]
reason = "used on the CPU"
[[contract]]
kernel = "a/k"
device = "gpu"
reason = "no device"
)"),
              ElementsAre(HasSubstr("device: \"gpu\" matches no device"),
                          "6: the contract of a/k is never used: \"a/*\" on line 2 matches first"));
}

TEST(ContractsByArch, BadArchsAreErrors) {
  EXPECT_THAT(errors_of(R"([[contract]]
kernel = "a/k"
arch = ["sm_80", "sm_90"]
reason = "r"
[[contract]]
kernel = ["b/k", "a/k"]
arch = ["sm_90"]
reason = "never used for a/k"
[[contract]]
kernel = "a/k"
arch = ["sm_90", "sm_100"]
reason = "used on sm_100"
[[contract]]
kernel = []
arch = ["ampere", "sm_"]
reason = "r"
)"),
              ElementsAre(HasSubstr("15: kernel is not a list of texts"),
                          HasSubstr("\"ampere\" is not a GPU architecture"),
                          HasSubstr("\"sm_\" is not a GPU architecture"),
                          "6: the contract of a/k is never used: \"a/k\" on line 2 matches first"));
}

Outcome outcome_on(const std::string& device, const std::string& described,
                   const Accumulator& declared) {
  Outcome outcome = passing();
  outcome.c.kernel = device.starts_with("cuda") ? "cuda/prefill_mma" : "emulated/prefill_mma";
  outcome.c.device = device;
  outcome.description.device_arch = described;
  outcome.description.spec.qk_accumulator = outcome.description.spec.pv_accumulator = declared;
  outcome.spec_judged = "";
  return outcome;
}

// A kernel declares the accumulator of another architecture, which has a larger error than its own.
TEST(ContractsByArch, LooserAccumulatorOfOtherArchFails) {
  const Contracts contracts = read_good(tensor_cores);
  const Accumulator ampere{DType::f32, true, 24, 8}, hopper{DType::f32, true, 25, 16};
  const auto statistics = [&](const Outcome& outcome) {
    std::vector<std::string> found;
    for (const Finding& finding : judge({.outcome = &outcome, .contracts = &contracts}).findings)
      found.emplace_back(name(finding.kind));
    return found;
  };
  EXPECT_THAT(statistics(outcome_on("emulated:sm_90", "", ampere)), Contains("spec"));
  EXPECT_THAT(statistics(outcome_on("cuda:0", "sm_90", ampere)), Contains("spec"));
  EXPECT_THAT(statistics(outcome_on("emulated:sm_90", "", hopper)), testing::Not(Contains("spec")));
  EXPECT_THAT(statistics(outcome_on("emulated:sm_80", "", ampere)), testing::Not(Contains("spec")));
  // tighter than necessary
  EXPECT_THAT(statistics(outcome_on("emulated:sm_80", "", hopper)), testing::Not(Contains("spec")));
  EXPECT_THAT(statistics(outcome_on("cuda:0", "", ampere)),
              testing::Not(Contains("spec")));  // unknown: the default
}

}  // namespace
}  // namespace plumbline
