// Python kernels that behave: their inputs and results arrive.
#include <cmath>
#include <span>

#include "tests/python_worker/python_fixture.h"

namespace plumbline {
namespace {

using test::python_worker;
using test::PythonTest;
using test::ScratchTest;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr Layout all_layouts[] = {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                                  Layout::paged_nhd, Layout::paged_hnd};

// Half an ulp of results up to 15; in fp32 a few ulps.
double tolerance(DType dtype) { return dtype == DType::f32 ? 8e-6 : 8 * unit_roundoff(dtype); }

float lse_at(Worker& worker, const PlacedCase& c, std::int64_t sample, std::int64_t row) {
  const auto* lse =
      static_cast<const float*>(worker.arena().data(static_cast<std::size_t>(c.request.lse)));
  return lse[c.geometry().lse_offset(sample, row, 0)];
}

// Runs a kernel on every dtype, with lengths of all kinds, and compares with the mean of the
// visible V.
void expect_means(const std::string& kernel, Mask mask,
                  std::span<const Layout> layouts = all_layouts) {
  auto worker = python_worker("behaved.py");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : layouts) {
      Problem p = mean_problem(dtype);
      p.batch = 3;
      p.layout = layout;
      p.page_size = 2;
      p.lengths = Lengths::random;
      p.padding = layout == Layout::padded_bhsd ? Padding::left : Padding::right;
      p.mask = mask;
      p.seq_q = p.seq_kv = 9;
      PlacedCase c(*worker, p);
      const RunReply reply = c.run(kernel);
      PLUMBLINE_SKIP_WITHOUT_LIBRARY(reply);
      ASSERT_EQ(reply.status, Status::ok) << reply.reason;
      EXPECT_LE(c.error(), tolerance(dtype)) << name(dtype) << " " << name(layout);
      EXPECT_THAT(c.broken_out_fences(), IsEmpty());
      EXPECT_NEAR(lse_at(*worker, c, 0, c.geometry().length_q(0) - 1),
                  std::log(static_cast<double>(c.geometry().length_kv(0))), 1e-5);
      EXPECT_TRUE(reply.lse_returned);
    }
  }
}

TEST_F(PythonTest, NumpyReturnsMeanOfV) {
  expect_means("behaved/attention", Mask::causal_bottom_right);
}
TEST_F(PythonTest, TorchReturnsMeanOfV) {
  expect_means("behaved/torch", Mask::causal_bottom_right);
}
TEST_F(PythonTest, JaxReturnsMeanOfV) {
  // each shape is compiled, which takes a second
  constexpr Layout layouts[] = {Layout::padded_bhsd, Layout::paged_nhd};
  expect_means("behaved/jax", Mask::none, layouts);
}

TEST_F(PythonTest, PaddedMasksWithoutLse) {
  auto worker = python_worker("behaved.py");
  for (const Padding padding : {Padding::right, Padding::left}) {
    Problem p = mean_problem();
    p.lengths = Lengths::random;
    p.padding = padding;
    p.batch = 4;
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/zeros");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_LE(c.error(), tolerance(DType::f32));
    EXPECT_FALSE(reply.lse_returned);
    EXPECT_TRUE(std::isnan(lse_at(*worker, c, 0, 0))) << "left as it was";
  }
}

// The rule of Geometry::visible_keys, with windows: rows with no, one or several visible keys.
TEST_F(PythonTest, WindowsMatchGeometry) {
  auto worker = python_worker("behaved.py");
  for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
    for (const auto& [left, right] :
         {std::pair{2, 1}, std::pair{0, 0}, std::pair{-1, 0}, std::pair{3, -1}}) {
      Problem p = mean_problem();
      p.mask = mask;
      p.window_left = left;
      p.window_right = mask == Mask::none ? right : -1;
      p.seq_q = 5;
      p.seq_kv = 7;
      PlacedCase c(*worker, p);
      ASSERT_EQ(c.run("behaved/attention").status, Status::ok);
      EXPECT_LE(c.error(), tolerance(DType::f32))
          << name(mask) << " window " << left << "," << right;
    }
  }
}

TEST_F(PythonTest, RowsWithoutKeysAndSamplesWithoutRows) {
  auto worker = python_worker("behaved.py");
  for (const Layout layout : all_layouts) {
    Problem p = mean_problem();
    p.batch = 3;
    p.layout = layout;
    p.lengths = Lengths::with_zero;
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/attention");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    ASSERT_GT(c.geometry().length_q(2), 0);
    ASSERT_EQ(c.geometry().length_kv(2), 0);
    EXPECT_EQ(lse_at(*worker, c, 2, 0), -std::numeric_limits<float>::infinity());
  }
}

TEST_F(PythonTest, NoLseUnlessWanted) {
  auto worker = python_worker("behaved.py");
  Problem p = mean_problem();
  p.lse = false;
  PlacedCase c(*worker, p);
  ASSERT_EQ(c.request.lse, -1);
  const RunReply reply = c.run("behaved/attention");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_LE(c.error(), tolerance(DType::f32));
}

TEST_F(PythonTest, HelloNamesKernelsAndVersion) {
  auto worker = python_worker("behaved.py");
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_EQ(hello->provider, "behaved");
  EXPECT_EQ(hello->version, "1.2 (tests)");
  EXPECT_THAT(hello->kernels, AllOf(Contains("behaved/attention"), Contains("behaved/narrow"),
                                    Not(Contains(HasSubstr("misbehaved")))));
}

TEST_F(PythonTest, DescriptionArrives) {
  auto worker = python_worker("behaved.py");
  PlacedCase c(*worker, mean_problem(DType::bf16));
  const RunReply reply = c.run("behaved/attention");
  ASSERT_EQ(reply.status, Status::ok) << reply.reason;
  const Description& d = reply.description;
  EXPECT_THAT(d.launched, StartsWith("attention (numpy "));
  EXPECT_THAT(d.build_id, SizeIs(16));
  EXPECT_EQ(d.tensor_cores, "none");
  EXPECT_EQ(d.padding_policy, PaddingPolicy::untouched);
  EXPECT_EQ(d.spec.p_dtype, DType::f32);
  EXPECT_EQ(d.spec.out_dtype, DType::bf16);
  EXPECT_EQ(d.spec.qk_accumulator, fma_accumulator);
  EXPECT_TRUE(d.spec.lse_includes_sink);
  EXPECT_EQ(d.promises.run_to_run, Promise::bitwise);
  EXPECT_EQ(d.promises.batch, Promise::rounding);
  EXPECT_EQ(d.promises.split, Promise::none);
  EXPECT_EQ(d.registers_per_thread, -1);
}

TEST_F(PythonTest, UnsetSpecFieldsAreStrict) {
  auto worker = python_worker("behaved.py");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Problem p = mean_problem(dtype);
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/zeros");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_EQ(reply.description.spec, strict_spec(p)) << spec_text(reply.description.spec);
  }
}

TEST_F(PythonTest, OptionsAndDeviceReachTheKernel) {
  auto worker = python_worker("behaved.py:scale=1.5,more=colons.py:too");
  PlacedCase c(*worker, mean_problem());
  EXPECT_THAT(c.run("behaved/where_am_i").description.launched,
              HasSubstr("options 'scale=1.5,more=colons.py:too', on cpu"));
}

TEST_F(ScratchTest, BuildIdFollowsFileAndSiblings) {
  const std::string provider =
      "import helper\nfrom plumbline.kernels import kernel\n\n@kernel()\ndef f(case):\n    return "
      "case.new_out()\n";
  const auto build_id = [&] {
    auto worker = Worker::create({"", (folder_ / "mine.py").string()});
    EXPECT_TRUE(worker) << to_string(worker.error());
    PlacedCase c(**worker, mean_problem());
    const RunReply reply = c.run("mine/f");
    EXPECT_EQ(reply.status, Status::ok) << reply.reason;
    return reply.description.build_id;
  };
  write("mine.py", provider);
  write("helper.py", "TILE = 64\n");
  const std::string first = build_id();
  EXPECT_EQ(build_id(), first);
  write("helper.py", "TILE = 128\n");
  const std::string second = build_id();
  EXPECT_NE(second, first);
  write("mine.py", provider + "# a remark\n");
  EXPECT_NE(build_id(), second);
}

// ---- What is not supported, and why ----

std::string refusal(Worker& worker, const std::string& kernel, const Problem& problem,
                    const std::string& device = "cpu") {
  PlacedCase c(worker, problem);
  c.request.device = device;
  const RunReply reply = c.run("behaved/" + kernel);
  EXPECT_EQ(reply.status, Status::unsupported) << reply.reason;
  return reply.reason;
}

TEST_F(PythonTest, UndeclaredProblemIsRefusedWithReason) {
  auto worker = python_worker("behaved.py");
  Problem p = mean_problem(DType::f16);
  EXPECT_EQ(refusal(*worker, "narrow", p), "dtype fp16 is not declared; narrow takes bf16");
  p.dtype = DType::bf16;
  EXPECT_EQ(refusal(*worker, "mixed", p),
            "K and V in bf16 is not declared; mixed takes fp16, fp32");
  EXPECT_EQ(refusal(*worker, "narrow", p),
            "mask none is not declared; narrow takes causal_bottom_right");
  p.mask = Mask::causal_bottom_right;
  p.window_left = 2;
  EXPECT_EQ(refusal(*worker, "narrow", p),
            "sliding windows are not declared by narrow (window=True)");
  p.window_left = -1;
  EXPECT_EQ(refusal(*worker, "narrow", p), "head_dim 64 is not supported; use 128")
      << "what the kernel itself raises";
  p.layout = Layout::ragged;
  EXPECT_EQ(refusal(*worker, "narrow", p),
            "layout ragged is not declared; narrow takes padded_bshd");
  Problem wider = mean_problem(DType::bf16);
  wider.out_dtype = DType::f32;
  EXPECT_EQ(refusal(*worker, "narrow", wider),
            "an output in fp32 is not declared; narrow takes bf16");
}

TEST_F(PythonTest, UnsupportedDevicesAreRefused) {
  auto worker = python_worker("behaved.py");
  EXPECT_EQ(refusal(*worker, "attention", mean_problem(), "cuda:0"),
            "attention runs on cpu, not on cuda:0");
  EXPECT_THAT(refusal(*worker, "attention", mean_problem(), "emulated:sm_90"),
              HasSubstr("not on emulated:sm_90"));
  EXPECT_THAT(refusal(*worker, "jax", mean_problem(), "cuda:0"),
              testing::AnyOf(HasSubstr("finds no CUDA device"), HasSubstr("cannot be imported")));
}

TEST_F(PythonTest, TorchOnGpuRunsOrExplains) {
  auto worker = python_worker("behaved.py");
  PlacedCase c(*worker, mean_problem(DType::bf16));
  c.request.device = "cuda:0";
  const RunReply reply = c.run("behaved/torch");
  PLUMBLINE_SKIP_WITHOUT_LIBRARY(reply);
  if (reply.status == Status::ok) {
    EXPECT_LE(c.error(), tolerance(DType::bf16));
    EXPECT_THAT(reply.description.launched, HasSubstr("cuda:0"));
  } else {
    EXPECT_EQ(reply.status, Status::unsupported);
    EXPECT_THAT(reply.reason, HasSubstr("finds no CUDA device"));
  }
}

}  // namespace
}  // namespace plumbline
