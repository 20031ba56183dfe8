// Every behaviour of a kernel becomes its case's status, and the same worker continues with the
// next case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>

#include "harness/provider/client/worker.h"
#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::unique_ptr<Worker> make_worker(const std::string& options = "",
                                    std::chrono::milliseconds timeout = std::chrono::seconds(60),
                                    std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30) {
  auto worker =
      Worker::create({PLUMBLINE_WORKER_PATH,
                      std::string(PLUMBLINE_TEST_PROVIDER) + (options.empty() ? "" : ":" + options),
                      memory_limit_bytes, timeout});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return std::move(*worker);
}

// Every test of this fixture ends by showing that the same Worker still runs a correct kernel.
class Misbehaviour : public testing::Test {
 protected:
  void use(std::unique_ptr<Worker> worker) { worker_ = std::move(worker); }
  Worker& worker() {
    if (worker_ == nullptr) worker_ = make_worker();
    return *worker_;
  }
  RunReply run(const std::string& kernel, const std::string& device = "cpu") {
    PlacedCase c(worker(), mean_problem());
    c.request.device = device;
    return c.run("test/" + kernel);
  }
  void TearDown() override {
    PlacedCase c(worker(), mean_problem());
    const RunReply reply = c.run("test/ok");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_LE(c.error(), 1e-5);
  }

 private:
  std::unique_ptr<Worker> worker_;
};

// The provider declares no operation, so its kernels are for attention.
TEST_F(Misbehaviour, AttentionKernelGetsNoMerge) {
  Problem problem = mean_problem();
  problem.merge = Merge::natural;
  problem.heads_kv = problem.heads_q, problem.seq_q = problem.head_dim_qk = 1;
  PlacedCase c(worker(), problem);
  const RunReply reply = c.run("test/ok");
  EXPECT_EQ(reply.status, Status::unsupported);
  EXPECT_EQ(reply.reason, "the kernel computes attention, not merge");
}

TEST_F(Misbehaviour, NullPointer) {
  const RunReply reply = run("crash_null");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, StartsWith("SIGSEGV in run: write through a null pointer"));
}

TEST_F(Misbehaviour, AbortQuotesOutput) {
  const RunReply reply = run("crash_abort");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("SIGABRT in run; it last wrote: "),
                                  HasSubstr("assertion `tile > 0' failed")));
  EXPECT_THAT(worker().log_tail(), HasSubstr("assertion"));
}

TEST_F(Misbehaviour, DivisionByZero) {
  const RunReply reply = run("crash_divide");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, StartsWith("SIGFPE in run"));
}

TEST_F(Misbehaviour, StackOverflow) {
  const RunReply reply = run("crash_stack");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, AllOf(StartsWith("SIGSEGV in run"), HasSubstr("stack overflow")));
}

TEST_F(Misbehaviour, CrashInKernelThread) {
  const RunReply reply = run("crash_in_thread");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, StartsWith("SIGSEGV in run: write through a null pointer"));
}

TEST_F(Misbehaviour, CrashNamesThePhase) {
  const RunReply reply = run("crash_describe");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, StartsWith("SIGSEGV in describe"));
}

TEST_F(Misbehaviour, HangBecomesTimeout) {
  use(make_worker("", std::chrono::milliseconds(1000)));
  const RunReply reply = run("hang");
  EXPECT_EQ(reply.status, Status::timeout);
  EXPECT_THAT(reply.reason, StartsWith("no answer within 1000 ms"));
}

TEST_F(Misbehaviour, PrintingDoesNotExtendDeadline) {
  use(make_worker("", std::chrono::milliseconds(1000)));
  const RunReply reply = run("hang_printing");
  EXPECT_EQ(reply.status, Status::timeout);
  EXPECT_THAT(reply.reason, HasSubstr("it last wrote: "));
}

TEST_F(Misbehaviour, ForeignSigkillIsOutOfMemory) {
  const RunReply reply = run("killed");
  EXPECT_EQ(reply.status, Status::out_of_memory);
  EXPECT_THAT(reply.reason, HasSubstr("SIGKILL"));
}

TEST_F(Misbehaviour, AllocationHitsMemoryLimit) {
  use(make_worker("", std::chrono::seconds(60), std::uint64_t{1} << 30));
  const RunReply reply = run("allocate");
  EXPECT_EQ(reply.status, Status::out_of_memory);
  EXPECT_EQ(reply.reason, "malloc refused 64 MiB");
}

TEST_F(Misbehaviour, BadAllocEscapes) {
  const RunReply reply = run("allocate_throw");
  EXPECT_EQ(reply.status, Status::out_of_memory);
  EXPECT_EQ(reply.reason, "std::bad_alloc left run");
}

TEST_F(Misbehaviour, WorkspaceBeyondAllMemory) {
  const RunReply reply = run("huge_workspace");
  EXPECT_EQ(reply.status, Status::out_of_memory);
  EXPECT_THAT(reply.reason, HasSubstr("no memory for a workspace of 1125899906842624 bytes"));
}

TEST_F(Misbehaviour, WriteToInputNamesTensor) {
  const RunReply reply = run("write_input");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_EQ(reply.reason, "SIGSEGV in run: write to read-only input q, byte 5");
}

TEST_F(Misbehaviour, WriteFarAfterOutCrashes) {
  const RunReply reply = run("write_far_behind_out");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_EQ(reply.reason, "SIGSEGV in run: write 4096 bytes after out");
}

TEST_F(Misbehaviour, ThrowEscapes) {
  const RunReply reply = run("throw");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "an exception left run: no plan fits");
  EXPECT_EQ(run("throw_number").reason, "an exception of unknown type left run");
}

TEST_F(Misbehaviour, ExitIsACrash) {
  const RunReply reply = run("exit");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason,
              StartsWith("ended itself with exit status 0 in the middle of a request"));
}

TEST_F(Misbehaviour, InvalidStatusIsAnError) {
  const RunReply reply = run("wrong_status");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "run returned 42, which is not a plumbline_status");
}

TEST_F(Misbehaviour, ReasonsAreNonemptyAndTerminated) {
  EXPECT_EQ(run("no_reason").reason, "run gave no reason");
  const RunReply reply = run("endless_reason");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, StartsWith("\xEF\xBF\xBD")) << "bytes that are not UTF-8 are replaced";
}

TEST_F(Misbehaviour, InvalidDescriptionIsAnError) {
  const RunReply reply = run("garbage_description");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "description: p_dtype has no meaning 77");
  EXPECT_EQ(run("endless_description").reason,
            "description: launched does not end with a NUL within its 256 bytes");
}

TEST_F(Misbehaviour, RefusalKeepsReason) {
  const RunReply reply = run("refuse");
  EXPECT_EQ(reply.status, Status::unsupported);
  EXPECT_EQ(reply.reason, "head_dim 64 is not supported; use 128");
}

TEST_F(Misbehaviour, UnknownKernelOrDevice) {
  EXPECT_THAT(run("no_such").reason, HasSubstr("provider test has no kernel \"no_such\""));
  PlacedCase c(worker(), mean_problem());
  EXPECT_EQ(c.run("other/ok").status, Status::error);
  c.request.device = "gpu";
  const RunReply reply = c.run("test/ok");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason, HasSubstr("device \"gpu\" is not known"));
}

TEST_F(Misbehaviour, MemoryIsClosedBetweenRequests) {
  RunReply reply = run("watch_between_requests");
  for (int i = 0; i < 1000 && reply.reason == "not yet"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    reply = run("watch_between_requests");
  }
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
}

TEST_F(Misbehaviour, NextRequestGetsFreshWorkspace) {
  EXPECT_THAT(run("write_behind_workspace").workspace_fault, HasSubstr("after workspace"));
  const RunReply reply = run("check_workspace");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_EQ(reply.workspace_fault, "");
}

TEST_F(Misbehaviour, LongOutputIsNotAReply) {
  PlacedCase c(worker(), mean_problem());
  const RunReply reply = c.run("test/print_stdout");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_LE(c.error(), 1e-5);
  EXPECT_THAT(worker().log_tail(), AllOf(SizeIs(4096), EndsWith("the last word")));
}

// ---- Faults that leave the status at ok and show in the tensors ----

TEST_F(Misbehaviour, WriteBeforeOutBreaksGuardBytes) {
  PlacedCase c(worker(), mean_problem());
  EXPECT_EQ(c.run("test/write_before_out").status, Status::ok);
  EXPECT_THAT(c.broken_out_fences(), ElementsAre(-3));
}

TEST_F(Misbehaviour, WriteAfterOutBreaksGuardBytes) {
  PlacedCase c(worker(), mean_problem());
  EXPECT_EQ(c.run("test/write_behind_out").status, Status::ok);
  EXPECT_THAT(c.broken_out_fences(), ElementsAre(3));
}

TEST_F(Misbehaviour, WriteAfterFullPageCrashes) {
  Problem p = mean_problem();
  p.batch = p.heads_q = p.heads_kv = p.seq_q = 1;
  p.head_dim_vo = 1024;
  PlacedCase c(worker(), p);
  const RunReply reply = c.run("test/write_behind_out");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_EQ(reply.reason, "SIGSEGV in run: write 3 bytes after out");
}

TEST_F(Misbehaviour, WriteAfterWorkspaceIsAFault) {
  const RunReply reply = run("write_behind_workspace");
  EXPECT_EQ(reply.status, Status::ok);
  EXPECT_EQ(reply.workspace_bytes, 1000u);
  EXPECT_EQ(reply.workspace_fault, "1 bytes after workspace were overwritten, the nearest 4 away");
}

TEST_F(Misbehaviour, UnwrittenElementStaysPoison) {
  PlacedCase c(worker(), mean_problem());
  EXPECT_EQ(c.run("test/leave_unwritten").status, Status::ok);
  EXPECT_TRUE(std::isnan(
      *static_cast<const float*>(worker().arena().data(static_cast<std::size_t>(c.request.out)))));
  EXPECT_FALSE(c.error() <= 1e-5);
}

// ---- The device ----

TEST_F(Misbehaviour, DeviceFaultsLeaveArenaIntact) {
  const RunReply input = run("write_input", "cuda:0");
  EXPECT_EQ(input.status, Status::ok) << "device memory is not read-only";
  EXPECT_EQ(input.workspace_fault, "input q was written to in device memory, first at byte 5");
  EXPECT_EQ(run("write_behind_workspace", "cuda:0").workspace_fault,
            "1 bytes after workspace were overwritten, the nearest 4 away");

  PlacedCase c(worker(), mean_problem());
  c.request.device = "cuda:0";
  EXPECT_EQ(c.run("test/write_behind_out").status, Status::ok);
  EXPECT_THAT(c.broken_out_fences(), ElementsAre(3));
}

TEST_F(Misbehaviour, StickyDeviceErrorFailsOneCase) {
  const RunReply reply = run("sticky_error", "cuda:0");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "synchronize failed with code 700");
  EXPECT_EQ(run("ok", "cuda:0").status, Status::ok) << "the process was replaced";
}

TEST_F(Misbehaviour, MissingDeviceIsNotMeasured) {
  const RunReply reply = run("ok", "cuda:3");
  EXPECT_EQ(reply.status, Status::unsupported);
  EXPECT_EQ(reply.reason, "not measured: there is one device, cuda:0");
  EXPECT_EQ(run("huge_workspace", "cuda:0").status, Status::out_of_memory);
}

// A plan proves that the device was there, so a later failure is an error, not a missing device.
TEST_F(Misbehaviour, DeviceLostInRunIsAnError) {
  const RunReply reply = run("no_device_in_run", "cuda:0");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason, "the device is gone");
}

TEST_F(Misbehaviour, DeviceWithoutMemoryFunctions) {
  use(make_worker("host"));
  const RunReply reply = run("ok", "cuda:0");
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_EQ(reply.reason,
            "provider test supports cuda:0 but has no memory functions "
            "(plumbline_provider.memory)");
}

// ---- Kernels that behave ----

class Behaviour : public testing::TestWithParam<std::tuple<DType, Layout, std::string>> {};

TEST_P(Behaviour, ReturnsMeanOfV) {
  const auto& [dtype, layout, device] = GetParam();
  auto worker = make_worker();
  Problem p = mean_problem(dtype);
  p.layout = layout;
  p.page_size = 2;
  p.lengths = Lengths::random;
  p.mask = Mask::causal_bottom_right;
  p.seq_q = p.seq_kv = 9;
  PlacedCase c(*worker, p);
  c.request.device = device;
  const RunReply reply = c.run("test/ok");
  ASSERT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_LE(c.error(), dtype == DType::f32 ? 2e-6 : 8 * unit_roundoff(dtype))
      << "half an ulp of the answers, at most 15";
  EXPECT_THAT(c.broken_out_fences(), IsEmpty());
  const auto* lse =
      static_cast<const float*>(worker->arena().data(static_cast<std::size_t>(c.request.lse)));
  EXPECT_NEAR(lse[c.geometry().lse_offset(0, c.geometry().length_q(0) - 1, 0)],
              std::log(static_cast<double>(c.geometry().length_kv(0))), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, Behaviour,
                         testing::Combine(testing::Values(DType::f32, DType::f16, DType::bf16),
                                          testing::Values(Layout::padded_bshd, Layout::padded_bhsd,
                                                          Layout::ragged, Layout::paged_nhd,
                                                          Layout::paged_hnd),
                                          testing::Values("cpu", "cuda:0", "emulated:sm_90")));

TEST(Worker, HelloNamesTheKernels) {
  auto worker = make_worker();
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_EQ(hello->provider, "test");
  EXPECT_EQ(hello->version, "1.0 (tests)");
  ASSERT_THAT(hello->kernels, Contains("test/ok"));
  ASSERT_EQ(hello->tensor_cores.size(), hello->kernels.size());
  EXPECT_EQ(hello->kernels[0], "test/ok");
  EXPECT_THAT(
      std::vector<std::string>(hello->tensor_cores.begin(), hello->tensor_cores.begin() + 2),
      ElementsAre("on", "none"));
}

// A provider that was compiled before kernel_tensor_cores was appended to plumbline_provider.
TEST(Worker, OlderProviderHasNoTensorCores) {
  auto worker = make_worker("size=88");
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->tensor_cores, Each("none"));
  EXPECT_THAT(hello->questions, Each("attention"));
}

TEST(Worker, ArchitectureArrives) {
  auto worker = make_worker("arch=sm_90");
  PlacedCase c(*worker, mean_problem());
  c.request.device = "cuda:0";
  EXPECT_EQ(c.run("test/ok").description.device_arch, "sm_90");
}

TEST(Worker, DescriptionArrives) {
  auto worker = make_worker();
  PlacedCase c(*worker, mean_problem(DType::bf16));
  const RunReply reply = c.run("test/looser_spec");
  ASSERT_EQ(reply.status, Status::ok) << reply.reason;
  const Description& d = reply.description;
  EXPECT_EQ(d.launched, "plain attention in kernel looser_spec");
  EXPECT_EQ(d.build_id, "test-1");
  EXPECT_EQ(d.tensor_cores, "none");
  EXPECT_EQ(d.padding_policy, PaddingPolicy::untouched);
  EXPECT_EQ(d.spec.p_dtype, DType::e4m3);
  EXPECT_EQ(d.spec.out_dtype, DType::bf16);
  EXPECT_EQ(d.spec.qk_accumulator, fma_accumulator);
  EXPECT_TRUE(d.spec.lse_includes_sink);
  EXPECT_EQ(d.promises.run_to_run, Promise::bitwise);
  EXPECT_EQ(d.promises.batch, Promise::rounding);
  EXPECT_EQ(d.promises.split, Promise::none);
  EXPECT_EQ(d.registers_per_thread, -1);
}

TEST(Worker, WorkspaceIsPoisonedAlignedAndSized) {
  auto worker = make_worker();
  for (const char* device : {"cpu", "cuda:0"}) {
    PlacedCase c(*worker, mean_problem());
    c.request.device = device;
    const RunReply reply = c.run("test/check_workspace");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_EQ(reply.workspace_bytes, 1000u);
    EXPECT_EQ(reply.workspace_fault, "");
  }
}

TEST(Worker, TimesKernelAndSentinelInTurn) {
  auto worker = make_worker();
  for (const char* device : {"cpu", "cuda:0"}) {
    PlacedCase c(*worker, mean_problem());
    c.request.device = device;
    c.request.timed_repetitions = 3;
    for (int again = 0; again < 2; ++again) {
      const RunReply reply = c.run("test/ok");
      ASSERT_EQ(reply.status, Status::ok) << reply.reason;
      EXPECT_THAT(reply.timing.kernel_ns, AllOf(SizeIs(3), Each(Gt(0))));
      EXPECT_THAT(reply.timing.sentinel_ns, AllOf(SizeIs(3), Each(Gt(0))));
      EXPECT_GT(reply.timing.plan_ns, 0);
      // host processor time does not include a device's work
      const bool on_host = c.request.device == "cpu";
      for (const auto& times : {reply.timing.kernel_cpu_ns, reply.timing.sentinel_cpu_ns})
        EXPECT_THAT(times, AllOf(SizeIs(on_host ? 3 : 0), Each(Gt(0))));
      EXPECT_LE(c.error(), 1e-5);
    }
  }
}

TEST(Worker, WaitForQuietCoreIsLimited) {
  auto worker = make_worker();
  PlacedCase c(*worker, mean_problem());
  c.request.timed_repetitions = 3;
  const auto seconds = [&](double quiet_ns) {
    c.request.quiet_ns = quiet_ns;
    const auto start = std::chrono::steady_clock::now();
    const RunReply reply = c.run("test/ok");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_THAT(reply.timing.kernel_cpu_ns, AllOf(SizeIs(3), Each(Gt(0))));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(0);
  EXPECT_GE(seconds(1), 0.5) << "no core is as quiet as that";
}

TEST(Worker, UntimedRunsHaveNoTimes) {
  auto worker = make_worker();
  PlacedCase c(*worker, mean_problem());
  const RunReply reply = c.run("test/ok");
  EXPECT_THAT(reply.timing.kernel_ns, IsEmpty());
  EXPECT_EQ(reply.peak_memory_bytes, -1);
}

TEST(Worker, MeasuresPeakMemoryOfCall) {
  auto worker = make_worker();
  PlacedCase c(*worker, mean_problem());
  c.request.timed_repetitions = 1;
  const std::int64_t little = c.run("test/ok").peak_memory_bytes,
                     much = c.run("test/takes_64_mib").peak_memory_bytes;
  if (much < 0) GTEST_SKIP() << "/proc/self/clear_refs cannot be written here";
  EXPECT_LT(little, 8 << 20);
  EXPECT_GE(much, 60 << 20);
#ifdef __SANITIZE_THREAD__
  EXPECT_LT(much, 5 * (80 << 20)) << "ThreadSanitizer notes up to four bytes for each";
#else
  EXPECT_LT(much, 80 << 20);
#endif
}

TEST(Worker, TensorsWithoutElements) {
  auto worker = make_worker();
  Problem p = mean_problem();
  p.batch = 3;
  p.layout = Layout::ragged;
  p.lengths = Lengths::with_zero;
  p.lse = false;
  PlacedCase c(*worker, p);
  EXPECT_EQ(c.request.lse, -1);
  const RunReply reply = c.run("test/ok");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
}

TEST(Worker, ServesManyCasesAsArenaGrows) {
  auto worker = make_worker();
  Problem p = mean_problem();
  for (int i = 0; i < 4; ++i) {
    p.seq_kv = std::int64_t{1} << (4 * i);
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("test/ok");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_LE(c.error(), 2e-3 * static_cast<double>(p.seq_kv) / 4096 + 1e-5);
  }
}

TEST(PlaceTensors, NextCaseReplacesSlots) {
  auto worker = make_worker();
  const PlacedCase first(*worker, mean_problem());
  const std::size_t slots = worker->arena().slot_count(), bytes = worker->arena().size_bytes();
  for (int i = 0; i < 100; ++i) PlacedCase(*worker, mean_problem());
  EXPECT_EQ(worker->arena().slot_count(), slots);
  EXPECT_EQ(worker->arena().size_bytes(), bytes);
}

TEST(PlaceTensors, NamesAccessAndIndexArrays) {
  auto worker = make_worker();
  Problem p = mean_problem();
  p.layout = Layout::paged_nhd;
  const PlacedCase c(*worker, p);
  Arena& arena = worker->arena();
  const auto slot = [&](int index) -> const Slot& {
    return arena.slot(static_cast<std::size_t>(index));
  };
  EXPECT_EQ(slot(c.request.k).name, "k");
  EXPECT_EQ(slot(c.request.k).access, Access::read);
  EXPECT_EQ(slot(c.request.lse).name, "lse");
  EXPECT_EQ(slot(c.request.lse).access, Access::write);
  const auto* lengths = static_cast<const std::int32_t*>(
      arena.data(static_cast<std::size_t>(c.request.cu_seqlens_kv)));
  EXPECT_THAT(std::vector<std::int32_t>(lengths, lengths + 3), ElementsAre(0, 5, 10));
  EXPECT_EQ(slot(c.request.page_table).bytes,
            c.geometry().page_table.size() * sizeof(std::int32_t));
}

// ---- Providers that cannot be used ----

std::string hello_error(const std::string& options, Worker& worker) {
  const auto hello = worker.hello();
  EXPECT_FALSE(hello) << options;
  return hello ? "" : to_string(hello.error());
}
std::string hello_error(const std::string& options) {
  return hello_error(options, *make_worker(options));
}

TEST(UnusableProvider, WrongAbiVersionNamesBoth) {
  EXPECT_THAT(hello_error("abi=999"),
              HasSubstr("was built for ABI version 999, this plumbline speaks version 1"));
}

TEST(UnusableProvider, ShortStructNamesBothSizes) {
  EXPECT_THAT(hello_error("size=40"), HasSubstr("has 40 bytes, this plumbline needs " +
                                                std::to_string(sizeof(void*) * 10 + 8)));
}

TEST(UnusableProvider, InvalidTensorCoresWord) {
  EXPECT_THAT(hello_error("tensor_cores=maybe"),
              HasSubstr("tensor_cores of kernel ok is \"maybe\", not \"on\", \"off\" or \"none\""));
}

TEST(UnusableProvider, NullTable) {
  EXPECT_THAT(hello_error("null"), HasSubstr("plumbline_get_provider returned null"));
}

TEST(UnusableProvider, CrashAndExceptionOnLoad) {
  EXPECT_THAT(hello_error("crash_on_load"),
              HasSubstr("crashed: SIGSEGV in loading: write through a null pointer"));
  EXPECT_THAT(hello_error("throw_on_load"), HasSubstr("an exception left loading: no licence"));
}

TEST(UnusableProvider, RunReportsReason) {
  auto worker = make_worker("crash_on_load");
  PlacedCase c(*worker, mean_problem());
  const RunReply reply = c.run("test/ok");
  EXPECT_EQ(reply.status, Status::crashed);
  EXPECT_THAT(reply.reason, HasSubstr("SIGSEGV in loading"));
}

TEST(UnusableProvider, MissingLibraryOrSymbol) {
  for (const auto& [library, message] :
       {std::pair{"/nowhere/lib.so", "/nowhere/lib.so: cannot open shared object file"},
        std::pair{"libm.so.6", "libm.so.6 does not export plumbline_get_provider"}}) {
    auto worker = Worker::create({PLUMBLINE_WORKER_PATH, library});
    ASSERT_TRUE(worker);
    EXPECT_THAT(hello_error(library, **worker), HasSubstr(message));
  }
}

TEST(UnusableProvider, MissingWorker) {
  const auto worker = Worker::create({"/nowhere/plumbline-worker", PLUMBLINE_TEST_PROVIDER});
  ASSERT_FALSE(worker);
  EXPECT_THAT(to_string(worker.error()), HasSubstr("/nowhere/plumbline-worker"));
}

TEST(UnusableProvider, WorkerWithWrongProtocol) {
  auto worker = Worker::create({"/bin/echo", PLUMBLINE_TEST_PROVIDER});
  ASSERT_TRUE(worker);
  EXPECT_THAT(hello_error("echo", **worker), HasSubstr("ended itself with exit status 0"));
}

}  // namespace
}  // namespace plumbline
