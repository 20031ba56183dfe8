// Python kernels get softcap, ALiBi, sinks, mask bits and fp8 K and V correctly, as their results
// show.
#include <cmath>
#include <cstring>

#include "tests/kernels/exact_attention.h"
#include "tests/python_worker/python_fixture.h"

namespace plumbline {
namespace {

using test::python_worker;
using test::PythonTest;

Problem small_problem() {
  Problem p;
  p.dtype = DType::f16;
  p.batch = 3;
  p.heads_q = 4;
  p.heads_kv = 2;
  p.seq_q = 20;
  p.seq_kv = 40;
  p.head_dim_qk = p.head_dim_vo = 16;
  p.lengths = Lengths::random;
  p.mask = Mask::causal_bottom_right;
  return p;
}

// Runs the kernel and returns the largest error of output and LSE in valid rows. Input elements
// that belong to no token are NaN, or 0 with `zero_padding`.
double error(const std::string& provider, const std::string& kernel, const Problem& problem,
             bool zero_padding = false) {
  auto worker = python_worker(provider);
  PlacedCase c(*worker, problem);
  const Geometry& g = c.geometry();
  const testing::Inputs inputs = testing::make_inputs(g);
  const auto data = [&](int slot) { return worker->arena().data(static_cast<std::size_t>(slot)); };
  for (const auto& [slot, bytes] :
       {std::pair{c.request.q, &inputs.q}, {c.request.k, &inputs.k}, {c.request.v, &inputs.v}}) {
    std::memcpy(data(slot), bytes->data(), bytes->size());
    for (std::size_t i = 0; zero_padding && i < bytes->size(); i += 2) {
      auto* number = static_cast<std::byte*>(data(slot)) + i;
      if (std::isnan(decode_at(DType::f16, number, 0))) std::memset(number, 0, 2);
    }
  }
  const RunReply reply = c.run(kernel);
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  if (reply.status != Status::ok) return HUGE_VAL;
  double largest = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t row = 0; row < g.length_q(b); ++row) {
      for (std::int64_t h = 0; h < problem.heads_q; ++h) {
        const testing::ExactRow exact = testing::exact_row(g, inputs, b, h, row);
        const auto note = [&](double got, double expected) {
          if (got != expected && !(std::abs(got - expected) <= largest))
            largest = std::isnan(got) ? HUGE_VAL : std::abs(got - expected);
        };
        note(decode_at(DType::f32, data(c.request.lse),
                       static_cast<std::size_t>(g.lse_offset(b, row, h))),
             exact.lse);
        for (std::size_t d = 0; d < exact.out.size(); ++d) {
          const double scale = g.side.out_scale.empty() ? 1 : double{g.side.out_scale[0]};
          note(scale * decode_at(problem.out(), data(c.request.out),
                                 static_cast<std::size_t>(g.out_offset(b, row, h)) + d),
               exact.out[d]);
        }
      }
    }
  }
  return largest;
}

// outputs below 4 in fp16; a wrong slope, cap, sink, bit or scale gives 10 times as much
constexpr double tolerance = 4e-3;

TEST_F(PythonTest, SoftcapAlibiAndSinksReachKernel) {
  Problem p = small_problem();
  p.softcap = 1.5;
  p.alibi = Alibi::random;
  p.sinks = Sinks::large;
  for (const Layout layout : {Layout::padded_bshd, Layout::ragged, Layout::paged_hnd}) {
    p.layout = layout;
    EXPECT_LE(error("behaved.py", "behaved/attention", p), tolerance) << name(layout);
  }
}

TEST_F(PythonTest, MaskBitsReachKernel) {
  Problem p = small_problem();
  for (const Mask mask : {Mask::prefix_lm, Mask::block_diagonal, Mask::custom}) {
    p.mask = mask;
    EXPECT_LE(error("behaved.py", "behaved/attention", p), tolerance) << name(mask);
  }
}

TEST_F(PythonTest, Fp8ScalesReachKernel) {
  Problem p = small_problem();
  for (const DType dtype : {DType::e4m3, DType::e5m2}) {
    for (const KvScales scales : {KvScales::tensor, KvScales::head, KvScales::batch_head}) {
      p.kv_dtype = dtype;
      p.kv_scales = scales;
      EXPECT_LE(error("behaved.py", "behaved/attention", p), tolerance)
          << name(dtype) << " " << name(scales);
    }
  }
}

TEST_F(PythonTest, Fp8QueriesAndTokenScalesReachKernel) {
  for (const DType dtype : {DType::f16, DType::e4m3, DType::e5m2}) {
    for (const KvScales scales : all<KvScales>()) {
      Problem p = small_problem();
      p.dtype = dtype;
      p.kv_dtype = DType::e4m3;
      p.kv_scales = scales;
      p.scale_block = 5;
      p.out_dtype = DType::f32;
      EXPECT_LE(error("behaved.py", "behaved/attention", p), tolerance)
          << name(dtype) << " " << name(scales);
    }
  }
}

// Outputs below 4 with 4 or 3 significand bits; a missing scale gives an error of 4 or more.
TEST_F(PythonTest, OutputScaleReachesKernel) {
  for (const DType dtype : {DType::f16, DType::e4m3}) {
    Problem p = small_problem();
    p.dtype = dtype;
    p.out_dtype = DType::e4m3;
    EXPECT_LE(error("behaved.py", "behaved/attention", p), 0.25) << name(dtype);
    p.out_dtype = DType::e5m2;
    EXPECT_LE(error("behaved.py", "behaved/attention", p), 0.5) << name(dtype);
  }
}

TEST_F(PythonTest, EmptySpecIsStrict) {
  auto worker = python_worker("behaved.py");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2}) {
    Problem p = small_problem();
    p.mask = Mask::none, p.dtype = dtype;
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/where_am_i");
    ASSERT_EQ(reply.status, Status::ok) << name(dtype) << reply.reason;
    EXPECT_EQ(reply.description.spec, strict_spec(p)) << name(dtype);
  }
}

// Returns the reply of a kernel of behaved.py that only states a spec.
RunReply stated(Worker& worker, const std::string& kernel, DType dtype) {
  Problem p = small_problem();
  p.mask = Mask::none, p.dtype = dtype;
  PlacedCase c(worker, p);
  return c.run("behaved/" + kernel);
}

TEST_F(PythonTest, PrescaleFollowsDtypeOfP) {
  auto worker = python_worker("behaved.py");
  for (const DType dtype : {DType::bf16, DType::e4m3}) {
    const auto prescale = [&](const char* kernel) {
      const RunReply reply = stated(*worker, kernel, dtype);
      EXPECT_EQ(reply.status, Status::ok) << reply.reason;
      return reply.description.spec.p_prescale;
    };
    EXPECT_EQ(prescale("p_in_fp16"), 1) << name(dtype);
    EXPECT_EQ(prescale("p_in_e4m3"), 256) << name(dtype);
    EXPECT_EQ(prescale("p_times_448"), 448) << name(dtype);
  }
}

// If the problem is in fp32, S and Q need no rounding, so the flags have no effect.
TEST_F(PythonTest, FlagsOfStepsFollowDtype) {
  auto worker = python_worker("behaved.py");
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const RunReply reply = stated(*worker, "steps", dtype);
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    const RoundingSpec& spec = reply.description.spec;
    const bool rounds = dtype == DType::bf16;
    EXPECT_EQ(spec.s_rounded, rounds ? dtype : DType::none);
    EXPECT_EQ(spec.s_rounded_twice, rounds);
    EXPECT_EQ(spec.q_prescaled_without_log2e, rounds);
  }
  const RunReply reply = stated(*worker, "flag_alone", DType::bf16);
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(reply.reason,
              ::testing::HasSubstr("s_rounded_twice changes nothing, because S is not rounded"));
}

TEST_F(PythonTest, UndeclaredFeatureIsRefused) {
  auto worker = python_worker("behaved.py");
  const auto refusal = [&](auto change) {
    Problem p = small_problem();
    p.mask = Mask::none;
    change(p);
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/zeros");
    EXPECT_EQ(reply.status, Status::unsupported);
    return reply.reason;
  };
  EXPECT_EQ(refusal([](Problem& p) { p.softcap = 30; }),
            "softcap is not declared by zeros (softcap=True)");
  EXPECT_EQ(refusal([](Problem& p) { p.alibi = Alibi::standard; }),
            "ALiBi is not declared by zeros (alibi=True)");
  EXPECT_EQ(refusal([](Problem& p) { p.sinks = Sinks::normal; }),
            "an attention sink is not declared by zeros (sinks=True)");
  EXPECT_EQ(refusal([](Problem& p) { p.mask = Mask::custom; }),
            "mask custom is not declared; zeros takes none");
  EXPECT_EQ(refusal([](Problem& p) { p.kv_dtype = DType::e4m3; }),
            "K and V in e4m3 is not declared; zeros takes fp16");
  EXPECT_EQ(refusal([](Problem& p) { p.out_dtype = DType::e4m3; }),
            "an output in e4m3 is not declared; zeros takes fp16");
  EXPECT_EQ(refusal([](Problem& p) { p.dtype = DType::e4m3; }),
            "dtype e4m3 is not declared; zeros takes fp32, fp16, bf16");
}

// Four parts of equal weight: their mean, and an LSE of log 4. A kernel gets only its own
// operation.
TEST_F(PythonTest, MergeReachesMergeKernel) {
  auto worker = python_worker("behaved.py");
  Problem p = small_problem();
  p.mask = Mask::none, p.lengths = Lengths::full;
  p.heads_kv = p.heads_q, p.seq_q = 1, p.seq_kv = 4, p.head_dim_qk = 1;
  for (const Merge merge : {Merge::natural, Merge::base_2}) {
    p.merge = merge;
    PlacedCase c(*worker, p);
    const RunReply reply = c.run("behaved/merge");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_LE(c.error(), tolerance);
    EXPECT_EQ(reply.description.spec.p_dtype, DType::f32);
    EXPECT_EQ(reply.description.spec.lse_base, merge == Merge::base_2 ? 2 : 0);
    EXPECT_NEAR(
        decode_at(DType::f32, worker->arena().data(static_cast<std::size_t>(c.request.lse)), 0),
        merge == Merge::base_2 ? 2 : std::log(4.0), 1e-6);
    EXPECT_EQ(c.run("behaved/attention").reason,
              "attention is a kernel for attention, not for merge");
  }
  p.merge = Merge::none;
  PlacedCase attention(*worker, p);
  EXPECT_EQ(attention.run("behaved/merge").reason,
            "merge is a kernel for merge, not for attention");
}

// PyTorch kernels that support some of the features.
class TorchFeatures : public PythonTest {
 protected:
  void SetUp() override {
    PythonTest::SetUp();
    const std::string reason = test::hello_error(provider());
    if (reason.find("torch") != std::string::npos) GTEST_SKIP() << reason;
  }
  static std::string provider() {
    return std::string(PLUMBLINE_PYTHON_FOLDER) + "/torch_kernels.py";
  }
  static double error_of(const std::string& kernel, const Problem& problem) {
    return error(provider(), kernel, problem, true);
  }
};

TEST_F(TorchFeatures, FlexSupportsSoftcapAlibiAndBits) {
  for (const auto& [padding, mask] :
       {std::pair{Padding::right, Mask::causal_bottom_right}, {Padding::left, Mask::custom}}) {
    Problem p = small_problem();
    p.padding = padding;
    p.mask = mask;
    p.softcap = 1.5;
    p.alibi = Alibi::random;
    EXPECT_LE(error_of("torch/flex", p), tolerance) << name(padding) << " " << name(mask);
  }
}

}  // namespace
}  // namespace plumbline
