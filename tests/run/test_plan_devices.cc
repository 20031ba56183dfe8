// Architecture and tensor-core mode as dimensions of a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/run/plan_devices.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<OfferedKernel> cpu{{"cpu/flash", "none"}};
const std::vector<OfferedKernel> emulated{
    {"cpu/flash", "none"}, {"emulated/prefill_mma", "on"}, {"emulated/prefill_simt", "off"}};
const std::vector<OfferedKernel> both{{"cpu/flash", "none"},
                                      {"emulated/prefill_mma", "on"},
                                      {"emulated/prefill_simt", "off"},
                                      {"cuda/prefill_mma", "on"},
                                      {"cuda/prefill_simt", "off"}};

Suite suite_from(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("plan_devices_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << "schema = 1\nname = \"s\"\n" << text;
  auto suite = read_suite(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(suite) << to_string(suite.error());
  return suite ? *suite : Suite{};
}

std::string group(const std::string& lines) {
  return "[[group]]\nname = \"g\"\nreason = \"r\"\nset = { dtype = \"fp16\", seq = 8 }\n" + lines;
}

std::vector<std::string> ids(const std::vector<Suite>& suites,
                             const std::vector<OfferedKernel>& kernels) {
  const auto plan = make_plan(suites, kernels, {});
  EXPECT_TRUE(plan) << to_string(plan.error());
  std::vector<std::string> result;
  if (!plan) return result;
  for (const PlannedCase& c : plan->cases)
    result.push_back(c.c.kernel + " " + c.c.device + " " + c.tensor_cores);
  for (const PlannedDiff& d : plan->diffs)
    result.push_back(d.a.c.kernel + " " + d.a.c.device + " : " + d.b.c.kernel + " " + d.b.c.device);
  return result;
}

std::string error_of(const Suite& suite, const std::vector<OfferedKernel>& kernels) {
  const auto plan = make_plan({suite}, kernels, {});
  EXPECT_FALSE(plan);
  return plan ? "" : to_string(plan.error());
}

TEST(PlanDevices, TensorCoreModeFiltersMatchingKernels) {
  EXPECT_THAT(ids({suite_from(group("kernels = [\"emulated/*\"]\narch = [\"sm_80\", "
                                    "\"sm_90\"]\ntensor_cores = [\"on\"]\n"))},
                  emulated),
              ElementsAre("emulated/prefill_mma emulated:sm_80 on",
                          "emulated/prefill_mma emulated:sm_90 on"));
  EXPECT_THAT(
      ids({suite_from(group(
              "kernels = [\"*/*\"]\narch = [\"sm_80\"]\ntensor_cores = [\"none\", \"off\"]\n"))},
          emulated),
      ElementsAre("cpu/flash emulated:sm_80 none", "emulated/prefill_simt emulated:sm_80 off"));
}

TEST(PlanDevices, UnavailableModeErrorNamesLine) {
  const Suite suite = suite_from(
      group("kernels = [\"emulated/*_mma\"]\narch = [\"sm_80\"]\ntensor_cores = [\"off\"]\n"));
  EXPECT_THAT(
      error_of(suite, emulated),
      AllOf(HasSubstr(".toml:7: no kernel that matches \"emulated/*_mma\" has tensor_cores off"),
            HasSubstr("it matches emulated/prefill_mma (on)")));
}

TEST(PlanDevices, MissingGpuProviderErrorHasRemedy) {
  EXPECT_THAT(error_of(suite_from(group("kernels = [\"emulated/*\"]\narch = [\"sm_80\"]\n")), cpu),
              AllOf(HasSubstr("no kernel matches \"emulated/*\""),
                    HasSubstr("build the target plumbline_emulated")));
  EXPECT_THAT(
      error_of(suite_from(group("kernels = [\"cuda/*\"]\ndevices = [\"cuda:0\"]\n")), cpu),
      AllOf(HasSubstr("no kernel matches \"cuda/*\""), HasSubstr("--device emulated:sm_90")));
  EXPECT_THAT(
      error_of(suite_from(group("kernels = [\"emulated/naiv\"]\narch = [\"sm_80\"]\n")), emulated),
      HasSubstr("emulated has emulated/prefill_mma"));
}

TEST(PlanDevices, DiffSidesChooseArchAndMode) {
  const std::string diff = "[[diff]]\nname = \"d\"\nreason = \"r\"\nset = { seq = 8 }\n";
  const std::string a = "a = { kernel = \"emulated/prefill_mma\", arch = \"sm_80\" }\n";
  EXPECT_THAT(
      ids({suite_from(diff + a +
                      "b = { kernel = \"emulated/prefill_mma\", arch = \"sm_90\", tensor_cores = "
                      "\"on\" }\n")},
          emulated),
      ElementsAre("emulated/prefill_mma emulated:sm_80 : emulated/prefill_mma emulated:sm_90"));
  EXPECT_THAT(error_of(suite_from(diff + a +
                                  "b = { kernel = \"emulated/prefill_mma\", arch = \"sm_90\", "
                                  "tensor_cores = \"off\" }\n"),
                       emulated),
              HasSubstr("has tensor_cores off"));
}

TEST(PlanDevices, DeviceOptionMovesOnlyGpuCases) {
  const std::string groups =
      group("kernels = [\"cpu/flash\", \"emulated/*\"]\n") +
      "[[group]]\nname = \"h\"\nreason = \"r\"\nset = { dtype = \"fp16\", seq = 8 }\ntimed = true\n"
      "kernels = [\"cuda/prefill_mma\"]\ndevices = [\"cuda:1\"]\n";
  std::vector<Suite> suites{suite_from(groups)};
  ASSERT_TRUE(use_devices(suites, {"cuda:0", "emulated:sm_80"}));
  const auto plan = make_plan(suites, both, {});
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_THAT(ids(suites, both),
              ElementsAre("cpu/flash cpu none", "cuda/prefill_mma cuda:0 on",
                          "cuda/prefill_simt cuda:0 off", "emulated/prefill_mma emulated:sm_80 on",
                          "emulated/prefill_simt emulated:sm_80 off"));
}

TEST(PlanDevices, KernelOptionDropsTensorCoreMode) {
  std::vector<Suite> suites{suite_from(
      group("kernels = [\"emulated/*\"]\narch = [\"sm_80\"]\ntensor_cores = [\"on\"]\n"))};
  use_kernels(suites, {"emulated/*_simt"});
  EXPECT_THAT(ids(suites, emulated), ElementsAre("emulated/prefill_simt emulated:sm_80 off"));
}

TEST(PlanDevices, EqualCasesAreKeptOnce) {
  const std::string lines = "kernels = [\"emulated/prefill_mma\"]\narch = [\"sm_80\", \"sm_90\"]\n";
  std::vector<Suite> suites{suite_from(group(lines) +
                                       "[[group]]\nname = \"h\"\nreason = \"r\"\ntimed = true\nset "
                                       "= { dtype = \"fp16\", seq = 8 }\n" +
                                       lines)};
  ASSERT_TRUE(use_devices(suites, {"cuda:0"}));
  ASSERT_EQ(suites[0].cases.size(), 1U);
  EXPECT_TRUE(suites[0].cases[0].timed);
  EXPECT_EQ(suites[0].cases[0].kernel_pattern, "cuda/prefill_mma");
}

TEST(PlanDevices, BothDiffSidesMove) {
  const std::string common =
      "reason = \"r\"\nset = { seq = 8 }\na = { kernel = \"emulated/prefill_mma\", arch = "
      "\"sm_80\" }\n";
  std::vector<Suite> suites{
      suite_from("[[diff]]\nname = \"archs\"\n" + common +
                 "b = { kernel = \"emulated/prefill_mma\", arch = \"sm_90\" }\n" +
                 "[[diff]]\nname = \"modes\"\n" + common +
                 "b = { kernel = \"emulated/prefill_simt\", arch = \"sm_80\" }\n" +
                 "[[diff]]\nname = \"host\"\n" + common + "b = { kernel = \"cpu/flash\" }\n")};
  ASSERT_TRUE(use_devices(suites, {"cuda:0"}));
  EXPECT_THAT(ids(suites, both), ElementsAre("cuda/prefill_mma cuda:0 : cuda/prefill_simt cuda:0",
                                             "cuda/prefill_mma cuda:0 : cpu/flash cpu"));
}

// Kernels that declare their devices: torch/flash both, torch/cudnn only GPUs, onnx/gqa only the
// CPU.
const std::vector<OfferedKernel> foreign{{"torch/flash", "on", {"cpu", "cuda"}},
                                         {"torch/cudnn", "on", {"cuda"}},
                                         {"onnx/gqa", "none", {"cpu"}},
                                         {"cpu/flash", "none"}};

TEST(PlanDevices, OnlySupportedKernelsMove) {
  std::vector<Suite> suites{
      suite_from(group("kernels = [\"torch/flash\", \"onnx/*\", \"cpu/flash\"]\n"))};
  ASSERT_TRUE(use_devices(suites, {"cuda:0", "cuda:1", "emulated:sm_90"}, foreign));
  EXPECT_THAT(ids(suites, foreign), ElementsAre("torch/flash cuda:0 on", "torch/flash cuda:1 on",
                                                "onnx/gqa cpu none", "cpu/flash cpu none"));
}

TEST(PlanDevices, PatternMovesSupportedKernels) {
  std::vector<Suite> suites{suite_from(group("kernels = [\"*/*\"]\n"))};
  ASSERT_TRUE(use_devices(suites, {"cuda:0"}, foreign));
  EXPECT_THAT(ids(suites, foreign), ElementsAre("torch/flash cuda:0 on", "torch/cudnn cuda:0 on",
                                                "onnx/gqa cpu none", "cpu/flash cpu none"));
}

TEST(PlanDevices, DiffSideStaysOnUnsupportedDevice) {
  std::vector<Suite> suites{
      suite_from("[[diff]]\nname = \"d\"\nreason = \"r\"\nset = { seq = 8 }\n"
                 "a = { kernel = \"torch/flash\" }\nb = { kernel = \"onnx/gqa\" }\n")};
  ASSERT_TRUE(use_devices(suites, {"cuda:0", "emulated:sm_90"}, foreign));
  EXPECT_THAT(ids(suites, foreign), ElementsAre("torch/flash cuda:0 : onnx/gqa cpu"));
}

TEST(PlanDevices, UnsupportedDeviceIsNotPlanned) {
  const std::string gpu = "devices = [\"cuda:0\"]\n";
  EXPECT_THAT(ids({suite_from(group("kernels = [\"torch/*\"]\n"))}, foreign),
              ElementsAre("torch/flash cpu on"));
  EXPECT_THAT(error_of(suite_from(group("kernels = [\"onnx/*\"]\n" + gpu)), foreign),
              AllOf(HasSubstr(".toml:7: no kernel that matches \"onnx/*\" runs on cuda:0"),
                    HasSubstr("it matches onnx/gqa")));
}

std::vector<std::string> absent(const std::string& groups, const RunEnvironment& here) {
  const auto plan = make_plan({suite_from(groups)}, foreign, {}, here);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return plan ? absent_lines(plan->absent) : std::vector<std::string>{};
}

TEST(PlanDevices, CasesOnAbsentGpuAreListed) {
  const std::string on_gpu =
      "kernels = [\"torch/cudnn\", \"flashinfer/ragged\"]\ndevices = [\"cuda:0\"]\n";
  const std::string diff =
      "[[diff]]\nname = \"d\"\nreason = \"r\"\nset = { seq = 8 }\n"
      "a = { kernel = \"torch/flash\" }\nb = { kernel = \"torch/cudnn\", device = \"cuda:0\" }\n";
  EXPECT_THAT(absent(group(on_gpu) + diff, {std::vector<std::string>{}, {}}),
              ElementsAre("not measured, for cuda:0 is not here: 3 cases: s/g (2), s/d (1)"));
  EXPECT_THAT(
      absent(group(on_gpu) + diff, {std::vector<std::string>{"cuda:0"}, {}}),
      ElementsAre("not measured, for the provider flashinfer is not loaded: 1 case: s/g (1)"));
  EXPECT_THAT(absent(diff, {}), IsEmpty());
  EXPECT_THAT(absent(group("kernels = [\"jax/dpa\"]\n"),
                     {std::nullopt, {{"jax", "jax is not installed for python3"}}}),
              ElementsAre("not measured, for jax is not installed for python3: 1 case: s/g (1)"));
}

TEST(PlanDevices, NonGpuDeviceIsRefused) {
  std::vector<Suite> suites;
  for (const char* device : {"cpu", "gpu", "cuda:x", "emulated:"}) {
    const auto used = use_devices(suites, {device});
    ASSERT_FALSE(used) << device;
    EXPECT_THAT(to_string(used.error()), HasSubstr("is not a GPU"));
  }
  EXPECT_TRUE(use_devices(suites, {}));
}

}  // namespace
}  // namespace plumbline
