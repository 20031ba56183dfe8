// The models of the special function unit give the bits of this machine's GPU, for all operands.
// The hardware decides: if they differ, the model is wrong. The log shows the differences. With
// PLUMBLINE_SPECIAL_DUMP=DIR, results are written to DIR (evidence/gpu.md).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <ostream>

#include "tests/gpu/hardware_mma.h"
#include "tests/gpu/special_sweep.h"
#include "tests/need_gpu.h"

namespace plumbline::testing {

void PrintTo(const SpecialModel& model, std::ostream* to) { *to << ptx_name(model.instruction); }

namespace {

constexpr std::size_t portion = std::size_t{1} << 26U;  // operands at a time: 256 MiB per buffer
constexpr std::uint64_t all_words = std::uint64_t{1} << 32U;

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);  // keeps the results of a step that is cut off
}

// Skips without a GPU.
class SpecialFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    static const Gpu gpu = find_gpu();
    if (!gpu.missing.empty())
      PLUMBLINE_SKIP_WITHOUT_GPU(gpu.missing + " (toolkit " + gpu.toolkit + ")");
    print(fmt::format("{} ({}), driver {}, toolkit {}\n", gpu.name, gpu.arch, gpu.driver,
                      gpu.toolkit));
    static GpuSpecialUnit unit(portion);
    ASSERT_EQ(unit.error(), "");
    unit_ = [](Special instruction, const SpecialOperands& operands, std::size_t count,
               std::uint32_t* results) { return unit.run(instruction, operands, count, results); };
    buffer_ = {unit.words(), portion};
    start_ = std::chrono::steady_clock::now();
  }
  void TearDown() override {
    if (buffer_.empty()) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    print(fmt::format("{:.1f} s\n", took.count()));
  }

  // Returns the directory of PLUMBLINE_SPECIAL_DUMP, if set.
  static std::optional<std::filesystem::path> dump_directory() {
    const char* const directory = std::getenv("PLUMBLINE_SPECIAL_DUMP");
    if (directory == nullptr || *directory == 0) return std::nullopt;
    return directory;
  }

  SpecialUnit unit_;
  std::span<std::uint32_t> buffer_;
  std::chrono::steady_clock::time_point start_;
};

// A quick check that takes a second.
TEST_F(SpecialFunctions, Every64thEx2OperandMatchesModel) {
  const SpecialModel& model = special_model(Special::ex2_ftz);
  const SpecialComparison compared = compare_operands(unit_, model, 0, 64, all_words / 64, buffer_);
  print(report(model, compared));
  EXPECT_EQ(compared.error, "");
  EXPECT_EQ(compared.differing, 0U);
  EXPECT_EQ(compared.nan_payloads, 0U);
}

class EveryOperand : public SpecialFunctions, public ::testing::WithParamInterface<SpecialModel> {};
std::vector<SpecialModel> models(bool of_two) {
  std::vector<SpecialModel> found;
  for (const SpecialModel& model : special_models())
    if ((model.of_two != nullptr) == of_two) found.push_back(model);
  return found;
}
const auto test_name = [](const ::testing::TestParamInfo<SpecialModel>& model) {
  std::string name(ptx_name(model.param.instruction));
  std::ranges::replace(name, '.', '_');
  return name;
};
INSTANTIATE_TEST_SUITE_P(SpecialFunctions, EveryOperand, ::testing::ValuesIn(models(false)),
                         test_name);

TEST_P(EveryOperand, MatchesModel) {
  const SpecialModel& model = GetParam();
  const SpecialComparison compared = compare_operands(unit_, model, 0, 1, all_words, buffer_);
  print(report(model, compared));
  EXPECT_EQ(compared.error, "");
  EXPECT_EQ(compared.differing, 0U);
  EXPECT_EQ(compared.nan_payloads, 0U);
  const auto directory = dump_directory();
  if (!directory || model.instruction > Special::lg2_ftz) return;
  const std::string name = test_name({model, 0});  // "ex2_approx_ftz_f32"
  EXPECT_EQ(dump_differences(unit_, model, buffer_, *directory / ("special_" + name + ".gz")), "");
}

class Division : public SpecialFunctions, public ::testing::WithParamInterface<SpecialModel> {};
INSTANTIATE_TEST_SUITE_P(SpecialFunctions, Division, ::testing::ValuesIn(models(true)), test_name);

// The emulator's products return the host's NaN, so NaN payloads are not compared
// (emulator/ptx/translated/numbers.h).
TEST_P(Division, RandomPairsMatchModel) {
  const SpecialModel& model = GetParam();
  const SpecialComparison compared = compare_pairs(unit_, model, std::uint64_t{1} << 26U, buffer_);
  print(report(model, compared));
  EXPECT_EQ(compared.error, "");
  EXPECT_EQ(compared.differing, 0U);
}

// ---- NVIDIA's error bounds (PTX ISA 9.7.3), and facts for a model ----

constexpr std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr std::uint32_t sign_bit = 1U << 31U;

void print_error(Special instruction, const char* kind, const LargestError& error) {
  print(fmt::format("{}: largest {} error 2^{:.3f}, at {:08x} ({:.9g}), result {:08x} ({:.9g})\n",
                    ptx_name(instruction), kind, std::log2(error.largest), error.operand,
                    std::bit_cast<float>(error.operand), error.result,
                    std::bit_cast<float>(error.result)));
}

TEST_F(SpecialFunctions, TanhErrorWithinBound) {
  const auto relative = [](float x, float result) {
    const double exact = std::tanh(static_cast<double>(x));
    return std::fabs(static_cast<double>(result) / exact - 1);
  };
  constexpr std::uint32_t normal = 0x00800000U, stride = 16;
  const LargestError error = largest_error(unit_, Special::tanh, normal, stride,
                                           (0x7f800000U - normal) / stride, buffer_, relative);
  ASSERT_EQ(error.error, "");
  print_error(Special::tanh, "relative", error);
  EXPECT_LE(error.largest, 0x1p-11);
}

TEST_F(SpecialFunctions, TanhIsOdd) {
  // Zero and the positive numbers, including infinity.
  const OddFacts facts = odd_facts(unit_, Special::tanh, 0, 0x7f800001U, buffer_);
  print(report(Special::tanh, facts));
  ASSERT_EQ(facts.error, "");
  EXPECT_EQ(facts.not_odd, 0U);
}

TEST_F(SpecialFunctions, SineAndCosineErrorsWithinBounds) {
  const auto sine = [](float x, float result) {
    return std::fabs(static_cast<double>(result) - std::sin(static_cast<double>(x)));
  };
  const auto cosine = [](float x, float result) {
    return std::fabs(static_cast<double>(result) - std::cos(static_cast<double>(x)));
  };
  constexpr std::uint32_t stride = 16;
  const std::uint32_t count = bits(3.14159250F) / stride + 1;  // the largest fp32 below pi
  for (const std::uint32_t first : {0U, sign_bit}) {
    const LargestError of_sine =
        largest_error(unit_, Special::sin, first, stride, count, buffer_, sine);
    const LargestError of_cosine =
        largest_error(unit_, Special::cos, first, stride, count, buffer_, cosine);
    ASSERT_EQ(of_sine.error + of_cosine.error, "");
    print_error(Special::sin, "absolute", of_sine);
    print_error(Special::cos, "absolute", of_cosine);
    // 20.5 bits
    EXPECT_LE(of_sine.largest, 6.7435e-7);
    EXPECT_LE(of_cosine.largest, 6.7435e-7);
  }
}

TEST_F(SpecialFunctions, PrintsResultsOfSpecialOperands) {
  constexpr Special all[] = {
#define PLUMBLINE_NAME(name, ptx) Special::name,
      PLUMBLINE_SPECIAL_OF_ONE(PLUMBLINE_NAME)
#undef PLUMBLINE_NAME
  };
  constexpr std::uint32_t ends[] = {0,           1,           0x007fffffU, 0x00800000U,
                                    0x3f800000U, 0x7f7fffffU, 0x7f800000U, 0x7f800001U,
                                    0x7fc00000U, 0x7fffffffU};
  for (const std::uint32_t sign : {0U, sign_bit}) {
    for (const std::uint32_t end : ends) {
      const std::uint32_t operand = end | sign;
      std::string line = fmt::format("{:08x}:", operand);
      for (const Special instruction : all) {
        ASSERT_EQ(unit_(instruction, {nullptr, nullptr, operand, 1}, 1, buffer_.data()), "");
        line += fmt::format(" {} {:08x}", ptx_name(instruction), buffer_[0]);
      }
      print(line + "\n");
    }
  }
}

// Data for deriving an exact model.
TEST_F(SpecialFunctions, WritesResultsIfRequested) {
  const auto directory = dump_directory();
  if (!directory) {
    print("PLUMBLINE_SPECIAL_DUMP is not set: no results are written\n");
    return;
  }
  SpecialDump dump(*directory / "special_results.gz");
  const auto write = [&](Special instruction, std::uint32_t first, std::uint32_t stride,
                         std::uint32_t last) {
    const std::uint64_t count = (std::uint64_t{last} - first + stride - 1) / stride;
    EXPECT_EQ(dump_results(unit_, instruction, first, stride, count, buffer_, dump), "");
  };
  write(Special::tanh, bits(0.5F), 1, bits(2.0F));
  write(Special::tanh, bits(0x1p-14F), 32, bits(16.0F));
  write(Special::sqrt_ftz, bits(1.0F), 4, bits(4.0F));
  write(Special::sin, bits(0x1p-12F), 64, bits(8.0F));
  for (const Special half :
       {Special::ex2_f16, Special::ex2_bf16, Special::tanh_f16, Special::tanh_bf16}) {
    write(half, 0, 1, 1U << 16U);
  }
  EXPECT_EQ(dump.finish(), "");
  const auto bytes = std::filesystem::file_size(*directory / "special_results.gz");
  print(fmt::format("special_results.gz: {} bytes\n", bytes));
  EXPECT_LE(bytes, std::uintmax_t{12} << 20U);
}

}  // namespace
}  // namespace plumbline::testing
