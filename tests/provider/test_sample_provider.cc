// A user's workflow: install the ABI package, build a provider against it with CMake, run a case.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/provider/client/worker.h"
#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

class SampleProvider : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plumbline-sample-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void command(const std::string& arguments) {
    const fs::path log = folder_ / "log";
    const std::string line =
        std::string("\"" CMAKE_PROGRAM "\" ") + arguments + " >" + log.string() + " 2>&1";
    const int result = std::system(line.c_str());
    std::stringstream output;
    output << std::ifstream(log).rdbuf();
    ASSERT_EQ(result, 0) << line << "\n" << output.str();
  }

  fs::path folder_;
};

std::unique_ptr<Worker> worker_of(const std::string& provider) {
  auto worker = Worker::create({PLUMBLINE_WORKER_PATH, provider});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return worker ? std::move(*worker) : nullptr;
}

std::vector<std::string> kernels_of(Worker& worker) {
  const auto hello = worker.hello();
  EXPECT_TRUE(hello) << to_string(hello.error());
  return hello ? hello->kernels : std::vector<std::string>{};
}

void expect_the_mean(Worker& worker, const std::string& kernel, const Problem& problem) {
  PlacedCase c(worker, problem);
  const RunReply reply = c.run(kernel);
  ASSERT_EQ(reply.status, Status::ok) << kernel << ": " << reply.reason;
  EXPECT_LE(c.error(), problem.dtype == DType::f32 ? 1e-6 : 4 * unit_roundoff(problem.dtype))
      << kernel << ": half an ulp of the answers, at most 8";
  EXPECT_TRUE(c.broken_out_fences().empty());
}

void expect_refused(Worker& worker, const std::string& kernel, const Problem& problem,
                    const std::string& reason) {
  const RunReply refused = PlacedCase(worker, problem).run(kernel);
  EXPECT_EQ(refused.status, Status::unsupported);
  EXPECT_EQ(refused.reason, reason);
}

std::vector<Problem> padded(DType dtype) {
  std::vector<Problem> problems;
  for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd}) {
    for (const Padding padding : {Padding::right, Padding::left}) {
      Problem& p = problems.emplace_back(mean_problem(dtype));
      p.layout = layout;
      p.lengths = Lengths::random;
      p.padding = padding;
    }
  }
  return problems;
}

Problem causal() {
  Problem problem = mean_problem();
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

void check_c_sample(const std::string& library) {
  const auto worker = worker_of(library);
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(kernels_of(*worker), std::vector<std::string>{"sample/naive"});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Problem& problem : padded(dtype)) expect_the_mean(*worker, "sample/naive", problem);
  }
  expect_refused(*worker, "sample/naive", causal(), "masks are not supported");
}

void check_cpp_sample(const std::string& library) {
  const std::vector<std::string> kernels{"sample_cpp/two_pass", "sample_cpp/online"};
  Problem ragged = mean_problem();
  ragged.layout = Layout::ragged;
  ragged.lengths = Lengths::random;
  for (const std::string options : {"", ":reverse=1"}) {
    const auto worker = worker_of(library + options);
    ASSERT_NE(worker, nullptr);
    EXPECT_EQ(kernels_of(*worker), kernels);
    for (const std::string& kernel : kernels) {
      for (const Problem& problem : padded(DType::f32)) expect_the_mean(*worker, kernel, problem);
      expect_the_mean(*worker, kernel, ragged);
    }
    const RunReply reply = PlacedCase(*worker, ragged).run(kernels[1]);
    EXPECT_EQ(reply.description.launched, options.empty() ? "first key first" : "last key first");
    EXPECT_EQ(reply.description.tensor_cores, "none");
    EXPECT_EQ(reply.description.registers_per_thread, -1);
    expect_refused(*worker, kernels[0], causal(), "masks are not supported");
    expect_refused(*worker, kernels[0], mean_problem(DType::f16),
                   "only fp32 is supported (got fp16)");
  }
  const auto wrong = worker_of(library + ":reverse=2");
  ASSERT_NE(wrong, nullptr);
  const RunReply answer = PlacedCase(*wrong, ragged).run(kernels[0]);
  EXPECT_EQ(answer.status, Status::error);
  EXPECT_THAT(answer.reason, ::testing::HasSubstr("option reverse=2: expected 0 or 1"));
}

TEST_F(SampleProvider, BuildsAgainstTheInstalledPackageAndRuns) {
  const std::string prefix = (folder_ / "prefix").string(), build = (folder_ / "build").string();
  ASSERT_NO_FATAL_FAILURE(
      command("--install \"" PLUMBLINE_BUILD_DIR "\" --component provider_abi --prefix " + prefix));
  ASSERT_NO_FATAL_FAILURE(command("-S \"" SAMPLE_SOURCE_DIR "\" -B " + build +
                                  " -G \"" GENERATOR "\" -DCMAKE_C_COMPILER=\"" C_COMPILER
                                  "\" -DCMAKE_CXX_COMPILER=\"" CXX_COMPILER
                                  "\" -DCMAKE_PREFIX_PATH=" +
                                  prefix));
  ASSERT_NO_FATAL_FAILURE(command("--build " + build));
  check_c_sample(build + "/sample_provider.so");
  check_cpp_sample(build + "/sample_provider_cpp.so");
}

#ifdef NVCC
// Sets an environment variable that workers inherit.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

void check_without_a_gpu(const std::string& library) {
  const Variable hidden("CUDA_VISIBLE_DEVICES", "-1");
  const auto worker = worker_of(library);
  ASSERT_NE(worker, nullptr);
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->devices, ::testing::IsEmpty());
  EXPECT_THAT(hello->no_device, ::testing::StartsWith("device_count failed: cudaError"));
  PlacedCase c(*worker, mean_problem());
  c.request.device = "cuda:0";
  const RunReply reply = c.run("sample_cuda/online");
  EXPECT_EQ(reply.status, Status::unsupported);
  EXPECT_THAT(reply.reason, ::testing::StartsWith("not measured: no GPU: "));
}

void check_on_a_device(const std::string& library) {
  const auto worker = worker_of(library);
  ASSERT_NE(worker, nullptr);
  Problem ragged = mean_problem();
  ragged.layout = Layout::ragged;
  ragged.lengths = Lengths::random;
  std::vector<Problem> problems = padded(DType::f32);
  problems.push_back(ragged);
  for (const Problem& problem : problems) {
    PlacedCase c(*worker, problem);
    c.request.device = "cuda:0";
    const RunReply reply = c.run("sample_cuda/online");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_EQ(reply.workspace_fault, "");
    EXPECT_LE(c.error(), 1e-6);
    EXPECT_TRUE(c.broken_out_fences().empty());
    EXPECT_THAT(reply.description.launched, ::testing::StartsWith("attend, 128 threads"));
  }
}
#endif

TEST_F(SampleProvider, GpuSampleBuildsAndRuns) {
#ifndef NVCC
  GTEST_SKIP() << "no nvcc, or a build with sanitizers";
#else
  const std::string build = (folder_ / "build").string();
  ASSERT_NO_FATAL_FAILURE(command("-S \"" SAMPLE_SOURCE_DIR "\" -B " + build +
                                  " -G \"" GENERATOR "\" -DCMAKE_C_COMPILER=\"" C_COMPILER
                                  "\" -DCMAKE_CXX_COMPILER=\"" CXX_COMPILER
                                  "\" -DCMAKE_CUDA_COMPILER=\"" NVCC
                                  "\" -DSAMPLE_CUDA=ON -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared "
                                  "-DCMAKE_PREFIX_PATH=\"" PLUMBLINE_BUILD_DIR "\""));
  ASSERT_NO_FATAL_FAILURE(command("--build " + build + " --target sample_provider_cuda"));
  const std::string library = build + "/sample_provider_cuda.so";
  check_without_a_gpu(library);
  const Variable emulated("LD_PRELOAD", EMULATED_CUDART), arch("PLUMBLINE_CUDART_ARCH", "sm_90"),
      cache("PLUMBLINE_PTX_CACHE", (folder_ / "ptx_cache").string());
  check_on_a_device(library);
#endif
}

}  // namespace
}  // namespace plumbline
