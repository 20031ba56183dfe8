// Each provider option has its documented effect, changes the build id, and is declared or hidden
// as documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <set>

#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

Problem long_problem(DType dtype = DType::bf16) {
  Problem problem;
  problem.dtype = dtype;
  problem.heads_q = 2;
  problem.heads_kv = 1;
  problem.seq_q = 24;
  problem.seq_kv = 700;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

// A problem of one sample with its exact result, for measuring many variants of a kernel.
class Trial {
 public:
  explicit Trial(const Problem& problem) : geometry_(problem), inputs_(make_inputs(geometry_)) {
    for (std::int64_t h = 0; h < problem.heads_q; ++h) {
      for (std::int64_t i = 0; i < problem.seq_q; ++i)
        exact_.push_back(exact_row(geometry_, inputs_, 0, h, i));
    }
  }

  Answer run(const std::string& kernel, const std::string& options = "") const {
    Answer answer = call(kernel, geometry_, inputs_, {.options = options});
    EXPECT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
    return answer;
  }

  // Returns the rms of (kernel - exact) / sigma over all elements. Sigma assumes P and output
  // rounded to the problem's dtype.
  double rms_error(const Answer& answer) const {
    const Problem& problem = geometry_.problem();
    const Roundoffs roundoffs{unit_roundoff(problem.dtype), 0};
    double sum = 0;
    std::size_t next = 0;
    for (const ExactRow& exact : exact_) {
      for (std::size_t j = 0; j < exact.out.size(); ++j) {
        sum += std::pow(
            (answer.out[next++] - exact.out[j]) / error_scale(exact, j, roundoffs, problem.out()),
            2);
      }
    }
    return std::sqrt(sum / static_cast<double>(next));
  }
  double rms_error(const std::string& kernel, const std::string& options = "") const {
    return rms_error(run(kernel, options));
  }

 private:
  Geometry geometry_;
  Inputs inputs_;
  std::vector<ExactRow> exact_;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(Options, MoreThanAHundredLegalRetilings) {
  const Trial trial(long_problem());
  std::set<std::string> builds;
  std::set<std::vector<double>> outputs;
  for (const int tile_q : {4, 32}) {
    for (const int tile_kv : {8, 16, 24, 32, 48, 64, 96, 128, 256}) {
      for (const char* extra :
           {"", ",reverse=1", ",lazy=1", ",splits=2", ",splits=3,reverse=1", ",splits=7,lazy=1"}) {
        const std::string options =
            "tile_q=" + std::to_string(tile_q) + ",tile_kv=" + std::to_string(tile_kv) + extra;
        const Answer answer = trial.run("flash", options);
        EXPECT_NEAR(trial.rms_error(answer), 1.0, 0.15) << options;
        EXPECT_EQ(answer.description.spec.p_dtype, PLUMBLINE_BF16) << options;
        EXPECT_EQ(answer.description.spec.split_partial_dtype, PLUMBLINE_F32) << options;
        builds.insert(answer.description.build_id);
        outputs.insert(answer.out);
      }
    }
  }
  EXPECT_EQ(builds.size(), 108U);
  EXPECT_GT(outputs.size(), 40U) << "tile_q changes no bit, nearly everything else does";
}

TEST(Options, TileSetsBothSizes) {
  EXPECT_THAT(call("flash", long_problem(), {.options = "tile=16x96"}).description.launched,
              HasSubstr("cpu/flash tile 16x96 fp32 accumulate"));
}

// Wrong changes, or changes that a rounding spec cannot express: the error grows, but the
// declaration does not change.
TEST(Options, FaultsChangeOutputUndeclared) {
  const Trial trial(long_problem());
  const Answer sound = trial.run("flash");
  for (const char* options : {"scale=1.01", "mask=off_by_one", "mask=one_key_few",
                              "drop_last_key=1", "double_round_p=1"}) {
    const Answer faulty = trial.run("flash", options);
    EXPECT_NE(sound.out, faulty.out) << options;
    EXPECT_GT(trial.rms_error(faulty), 1.05 * trial.rms_error(sound)) << options;
    EXPECT_EQ(std::memcmp(&sound.description.spec, &faulty.description.spec,
                          sizeof sound.description.spec),
              0)
        << options;
    EXPECT_THAT(faulty.description.launched, HasSubstr(options));
  }
}

TEST(Options, MaskFaultsMoveTheDiagonalByOneKey) {
  Problem problem = long_problem();
  problem.seq_q = 1;
  problem.seq_kv = 3;
  problem.mask = Mask::causal_top_left;  // sees only key 0
  const auto logarithm_of_keys = [&](const std::string& options) {
    return call("flash_p32", problem, {.options = options}).lse[0];
  };
  const double one = logarithm_of_keys("");
  EXPECT_GT(logarithm_of_keys("mask=off_by_one"), one);
  EXPECT_EQ(logarithm_of_keys("mask=one_key_few"), -HUGE_VAL);
  EXPECT_EQ(logarithm_of_keys("drop_last_key=1"), one);
  problem.mask = Mask::none;
  const double all = logarithm_of_keys("");
  EXPECT_EQ(logarithm_of_keys("mask=off_by_one"), all)
      << "only causal rows have a diagonal to miss";
  EXPECT_LT(logarithm_of_keys("drop_last_key=1"), all);
}

TEST(Options, ScaleMovesTheLse) {
  const std::vector<double> sound = call("flash", long_problem()).lse;
  const std::vector<double> faulty = call("flash", long_problem(), {.options = "scale=1.001"}).lse;
  double largest = 0;
  for (std::size_t i = 0; i < sound.size(); ++i)
    largest = std::max(largest, std::abs(faulty[i] - sound[i]));
  EXPECT_GT(largest, 3e-4);
  EXPECT_LT(largest, 1e-1);
}

TEST(Options, DoubleRoundingErrorGrowth) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const std::int64_t keys : {100, 700, 3000}) {
      Problem problem = long_problem(dtype);
      problem.seq_kv = keys;
      problem.head_dim_qk = problem.head_dim_vo = 128;
      const Trial trial(problem);
      for (const std::string kernel : {"flash", "split_kv"}) {
        const double ratio = trial.rms_error(kernel, "double_round_p=1") / trial.rms_error(kernel);
        EXPECT_GT(ratio, 1.1) << kernel << " " << name(dtype) << " " << keys;
        EXPECT_LT(ratio, 1.3) << kernel << " " << name(dtype) << " " << keys;
      }
    }
  }
}

TEST(Options, DeclarableChangesAreDeclared) {
  const auto spec = [](const std::string& kernel, const std::string& options) {
    return call(kernel, long_problem(), {.options = options}).description.spec;
  };
  EXPECT_EQ(spec("flash", "p_dtype=e4m3").p_dtype, PLUMBLINE_E4M3);
  EXPECT_EQ(spec("flash", "p_dtype=fp32").p_dtype, PLUMBLINE_F32);
  EXPECT_EQ(spec("flash", "denominator=rounded").denominator_from_rounded_p, 1U);
  EXPECT_EQ(spec("split_kv", "partials=16").split_partial_dtype, PLUMBLINE_BF16);
  EXPECT_EQ(spec("flash", "partials=16").split_partial_dtype, PLUMBLINE_F32) << "nothing is split";
  EXPECT_EQ(spec("flash", "p_dtype=e4m3,undeclared=1").p_dtype, PLUMBLINE_BF16);
  EXPECT_EQ(spec("flash", "denominator=rounded,undeclared=1").denominator_from_rounded_p, 0U);
  EXPECT_EQ(spec("split_kv", "partials=16,undeclared=1").split_partial_dtype, PLUMBLINE_F32);
  EXPECT_EQ(spec("flash_denominator", "undeclared=1").denominator_from_rounded_p, 1U)
      << "what the kernel itself is stays declared";
}

TEST(Options, UnreadOptionsAreNotDeclared) {
  const plumbline_description naive =
      call("naive", long_problem(), {.options = "splits=4,partials=16"}).description;
  EXPECT_EQ(naive.spec.split_partial_dtype, PLUMBLINE_F32);
  EXPECT_EQ(naive.promises.prefill_decode, PLUMBLINE_PROMISE_BITWISE);
  const plumbline_description unpad =
      call("flash_unpad", long_problem(), {.options = "padded=attended"}).description;
  EXPECT_EQ(unpad.padding_policy, PLUMBLINE_PADDED_ROWS_ZEROS);
}

TEST(Options, DeclaredChangesChangeTheOutput) {
  const Problem problem = long_problem();
  const Answer flash = call("flash", problem);
  EXPECT_NE(call("flash", problem, {.options = "p_dtype=fp32"}).out, flash.out);
  EXPECT_NE(call("flash", problem, {.options = "denominator=rounded"}).lse, flash.lse);
  EXPECT_NE(call("split_kv", problem, {.options = "partials=16"}).out,
            call("split_kv", problem).out);
  const Trial trial(problem);
  EXPECT_GT(trial.rms_error("flash", "p_dtype=e4m3"), 3.0);
  EXPECT_LT(trial.rms_error("flash", "p_dtype=fp32"), 0.9);
}

TEST(Options, ReproduceTwinKernels) {
  const Problem problem = long_problem();
  EXPECT_EQ(call("flash", problem, {.options = "denominator=rounded"}).out,
            call("flash_denominator", problem).out);
  EXPECT_EQ(call("split_kv", problem, {.options = "partials=16"}).out,
            call("split_kv_16", problem).out);
  EXPECT_EQ(call("flash", problem, {.options = "tile_kv=128"}).out,
            call("flash_tile128", problem).out);
  EXPECT_EQ(call("flash", problem, {.options = "splits=0"}).out, call("split_kv", problem).out);
  EXPECT_EQ(call("flash", problem, {.options = "lazy=1"}).out, call("flash_lazy", problem).out);
  EXPECT_EQ(call("flash", problem, {.options = "p_dtype=fp32"}).out,
            call("flash_p32", problem).out);
}

TEST(Options, SlowRepeatsTheComputation) {
  const Geometry geometry(long_problem());
  const Inputs inputs = make_inputs(geometry);
  EXPECT_EQ(call("flash", geometry, inputs, {.options = "slow=2"}).out,
            call("flash", geometry, inputs).out);
  const auto seconds = [&](const std::string& options) {
    double best = HUGE_VAL;
    for (int i = 0; i < 5; ++i) {
      const double start = thread_seconds();
      call("flash", geometry, inputs, {.options = options});
      best = std::min(best, thread_seconds() - start);
    }
    return best;
  };
  // 200 / 20, minus the fixed cost of a call
  EXPECT_GT(seconds("slow=200"), 5 * seconds("slow=20"));
}

TEST(Options, ChangeTheBuildId) {
  const auto build = [](const std::string& options) {
    return std::string(call("flash", long_problem(), {.options = options}).description.build_id);
  };
  EXPECT_EQ(build("").size(), 16U);
  EXPECT_EQ(build(""), build(""));
  EXPECT_NE(build(""), build("slow=2"));
  EXPECT_NE(build("slow=2"), build("slow=3"));
  EXPECT_TRUE(build("slow=2").starts_with(build("")));
}

TEST(Options, MistakesAreExplained) {
  const auto reason = [](const std::string& options) {
    const Answer answer = call("flash", long_problem(), {.options = options});
    EXPECT_EQ(answer.status, PLUMBLINE_ERROR);
    return answer.reason;
  };
  EXPECT_THAT(reason("tile_k=64"), HasSubstr("unknown option 'tile_k'"));
  EXPECT_THAT(reason("tile_k=64"), HasSubstr("tile_kv"));
  EXPECT_THAT(reason("tile_kv=60"),
              HasSubstr("tile_kv=60 of the cpu provider: expected 8 to 1024, a multiple of 8"));
  EXPECT_THAT(reason("tile_q=16,scale=-1"), HasSubstr("scale=-1"));
  EXPECT_THAT(reason("reverse"), HasSubstr("reverse"));
  EXPECT_THAT(reason("scale=nan"), HasSubstr("expected a positive factor"));
}

}  // namespace
}  // namespace plumbline::testing
