// A provider with wrong numbers or texts causes an error or fails one case. The worker continues.
#include <gmock/gmock.h>

#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Worker> worker_of(const std::string& options) {
  auto worker =
      Worker::create({PLUMBLINE_WORKER_PATH,
                      std::string(PLUMBLINE_TEST_PROVIDER) + (options.empty() ? "" : ":" + options),
                      std::uint64_t{1} << 30});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return std::move(*worker);
}

std::string hello_error(const std::string& options) {
  const auto hello = worker_of(options)->hello();
  EXPECT_FALSE(hello) << options;
  return hello ? "" : to_string(hello.error());
}

TEST(LyingProvider, RefusesTooManyKernels) {
  EXPECT_THAT(hello_error("kernels=4294967295"),
              HasSubstr("claims 4294967295 kernels, more than 65536"));
}

TEST(LyingProvider, ClaimedKernelsWithoutNames) {
#ifdef __SANITIZE_ADDRESS__  // ASan ends the worker itself
  EXPECT_THAT(hello_error("kernels=65536"), HasSubstr("ended itself"));
#else
  EXPECT_THAT(hello_error("kernels=65536"),
              testing::AnyOf(HasSubstr("SIGSEGV in loading"), HasSubstr("the name of kernel")));
#endif
}

TEST(LyingProvider, AcceptsNoKernels) {
  const auto hello = worker_of("kernels=0")->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_TRUE(hello->kernels.empty());
}

TEST(LyingProvider, RefusesInvalidNames) {
  EXPECT_THAT(hello_error("kernel_name=null"), HasSubstr("the name of kernel 0 is empty"));
  EXPECT_THAT(hello_error("kernel_name=endless"),
              HasSubstr("the name of kernel 0 has more than 128 bytes"));
  EXPECT_THAT(
      hello_error("kernel_name=a/b"),
      HasSubstr(R"(the name of kernel 0 is "a/b": a name is UTF-8 without control bytes or '/')"));
  EXPECT_THAT(hello_error("kernel_name=two\nlines"), HasSubstr(R"(is "two?lines")"));
  EXPECT_THAT(hello_error("kernel_name=bytes"), HasSubstr(R"(is "??")"));
  EXPECT_THAT(hello_error("kernel_name=device=cuda:0"), HasSubstr("does not begin with device="));
  EXPECT_THAT(hello_error("kernel_name=refuse"), HasSubstr("two kernels are called refuse"));
  EXPECT_THAT(hello_error("name=null"), HasSubstr("a field of its plumbline_provider is null"));
  EXPECT_THAT(hello_error("name=a/b"), HasSubstr("the provider's name is \"a/b\""));
  EXPECT_THAT(hello_error("name=endless"),
              HasSubstr("the provider's name has more than 128 bytes"));
}

// Whatever the name contains, a case id with it can be parsed.
TEST(LyingProvider, AcceptsUnusualNames) {
  for (const std::string name :
       {"a \"b\" <c> & 'd' %41 \\e", "-x", "*?[]", "\xC3\xA9\xF0\x9F\x98\x80", "a=b"}) {
    auto worker = worker_of("kernel_name=" + name);
    PlacedCase c(*worker, mean_problem());
    const RunReply reply = c.run("test/" + name);
    EXPECT_EQ(reply.status, Status::ok) << name << ": " << reply.reason;
    const Case asked{"test/" + name, "cuda:0", mean_problem()};
    const auto back = parse_case_id(case_id(asked));
    ASSERT_TRUE(back.has_value()) << case_id(asked);
    EXPECT_EQ(back->kernel, asked.kernel);
    EXPECT_EQ(case_id(*back), case_id(asked));
  }
}

TEST(LyingProvider, RefusesShortStructs) {
  EXPECT_THAT(hello_error("size=0"), HasSubstr("its plumbline_provider has 0 bytes"));
  EXPECT_THAT(hello_error("memory_size=8"), HasSubstr("its plumbline_device_memory has 8 bytes"));
  EXPECT_THAT(hello_error("memory_null"),
              HasSubstr("a function of its plumbline_device_memory is null"));
  // a newer release: fields after ours are ignored
  const auto hello = worker_of("size=4294967295")->hello();
  EXPECT_TRUE(hello) << to_string(hello.error());
}

TEST(LyingProvider, HugeWorkspaceIsOutOfMemory) {
  auto worker = worker_of("");
  for (const char* kernel :
       {"test/huge_workspace", "test/workspace_of_2_63", "test/workspace_of_all_bits"}) {
    for (const char* device : {"cpu", "cuda:0"}) {
      PlacedCase c(*worker, mean_problem());
      c.request.device = device;
      const RunReply reply = c.run(kernel);
      EXPECT_EQ(reply.status, Status::out_of_memory)
          << kernel << " on " << device << ": " << reply.reason;
      EXPECT_THAT(reply.reason, HasSubstr("workspace")) << kernel;
    }
  }
  PlacedCase c(*worker, mean_problem());
  EXPECT_EQ(c.run("test/ok").status, Status::ok);
}

TEST(LyingProvider, InvalidPlansAndDescriptions) {
  auto worker = worker_of("");
  const auto run = [&](const std::string& kernel) {
    PlacedCase c(*worker, mean_problem());
    return c.run("test/" + kernel);
  };
  EXPECT_EQ(run("no_plan").reason, "prepare gave no plan");
  EXPECT_EQ(run("nan_description").reason, "description: exp2_rel_error is nan, not in [0, 1)");
  EXPECT_THAT(run("endless_description").reason,
              HasSubstr("launched does not end with a NUL within its"));
  EXPECT_EQ(run("lies_about_description").status, Status::ok)
      << "sizes that it writes are not read";
}

}  // namespace
}  // namespace plumbline
