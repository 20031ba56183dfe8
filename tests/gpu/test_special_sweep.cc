// The comparison of a special function unit with its model. Stand-ins for the unit are the model
// itself and models with planted differences.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "emulator/ptx/special_functions.h"
#include "tests/gpu/special_sweep.h"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a unit that gives the model's results, except for the operands (for divisions: divisors)
// in `planted`.
SpecialUnit stand_in(std::map<std::uint32_t, std::uint32_t> planted = {}) {
  return [planted](Special instruction, const SpecialOperands& operands, std::size_t count,
                   std::uint32_t* results) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t x =
          operands.a != nullptr ? operands.a[i]
                                : operands.first + static_cast<std::uint32_t>(i) * operands.stride;
      const std::uint32_t y = operands.b != nullptr ? operands.b[i] : x;
      const auto found = planted.find(y);
      if (found != planted.end()) {
        results[i] = found->second;
      } else {
        const SpecialModel& model = special_model(instruction);
        results[i] = model.of_two != nullptr ? model.of_two(x, y) : model.of_one(x);
      }
    }
    return std::string();
  };
}

class SpecialSweep : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() /
      fmt::format("special_sweep_{}",
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::vector<std::uint32_t> buffer_ = std::vector<std::uint32_t>(300'000);
};

// Parsed as in the Python code of evidence/gpu.md.
struct Section {
  std::string header;
  std::vector<std::int32_t> values;
};
std::vector<Section> read_dump(const std::filesystem::path& file) {
  const gzFile gzip = gzopen(file.c_str(), "rb");
  std::string data, part(1U << 20U, 0);
  for (int n = 0; gzip != nullptr && (n = gzread(gzip, part.data(), 1U << 20U)) > 0;)
    data.append(part, 0, static_cast<std::size_t>(n));
  if (gzip != nullptr) gzclose(gzip);
  std::vector<Section> sections;
  for (std::size_t at = 0; at < data.size();) {
    const std::size_t end = data.find('\n', at);
    Section section{data.substr(at, end - at), {}};
    std::istringstream words(section.header);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;  // plumbline-special 1 PTX KIND COUNT
    section.values.resize(std::stoul(word));
    const std::size_t count = section.values.size();
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t zigzag = 0;
      for (unsigned plane = 0; plane < 4; ++plane)
        zigzag |= std::uint32_t{static_cast<std::uint8_t>(data.at(end + 1 + plane * count + i))}
                  << 8 * plane;
      section.values[i] = static_cast<std::int32_t>(zigzag >> 1U ^ (0U - (zigzag & 1U)));
    }
    sections.push_back(section);
    at = end + 1 + 4 * count;
  }
  return sections;
}

TEST_F(SpecialSweep, UlpsAcrossZeroAndInfinity) {
  EXPECT_EQ(ulps(0x3f800000U, 0x3f800003U), 3);
  EXPECT_EQ(ulps(0x80000001U, 0x00000001U), 2);
  EXPECT_EQ(ulps(0x80000000U, 0), 0);
  EXPECT_EQ(ulps(0x7f800000U, 0x7f7fffffU), -1);
  EXPECT_EQ(ulps(0x7f800001U, 0), std::nullopt);
}

TEST_F(SpecialSweep, ModelMatchesItself) {
  for (const SpecialModel& model : special_models()) {
    const SpecialComparison compared =
        model.of_two != nullptr ? compare_pairs(stand_in(), model, 1'000'000, buffer_)
                                : compare_operands(stand_in(), model, 5, 4099, 1'000'000, buffer_);
    EXPECT_EQ(compared.differing + compared.nan_payloads, 0U);
    EXPECT_EQ(report(model, compared),
              fmt::format("{}: 1000000 operands, 0 differ in bits, 0 in the bits of a NaN\n",
                          ptx_name(model.instruction)));
  }
}

// All parts of a comparison, with differences on both sides of the buffer's end.
TEST_F(SpecialSweep, CountsPlantedDifferences) {
  const SpecialModel& model = special_model(Special::rcp_ftz);
  std::map<std::uint32_t, std::uint32_t> planted;
  const std::uint32_t first = 0x3f700000U;
  for (std::uint32_t i = 0; i < 30; ++i) {  // slice 0 of [1, 2)
    const std::uint32_t x = 0x3f800000U + 100 * i;
    planted[x] = ptx::special_rcp(x) + 1;
  }
  planted[0x3f700007U] = ptx::special_rcp(0x3f700007U) - 7;
  planted[0x3f8f0000U] = 0x7fffffffU;
  const SpecialComparison compared =
      compare_operands(stand_in(planted), model, first, 1, 0x300000, buffer_);
  EXPECT_EQ(compared.error, "");
  EXPECT_EQ(compared.operands, 0x300000U);
  EXPECT_EQ(compared.differing, 32U);
  EXPECT_EQ(compared.one_nan, 1U);
  EXPECT_THAT(compared.by_ulps, ElementsAre(1, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0));
  EXPECT_EQ(compared.largest_ulps, 7);
  EXPECT_EQ(compared.largest->a, 0x3f700007U);
  ASSERT_EQ(compared.first.size(), 20U);
  EXPECT_EQ(compared.first[0].a, 0x3f700007U);
  EXPECT_EQ(compared.first[0].place, 7U);
  EXPECT_EQ(compared.first[19].a, 0x3f800000U + 1800);
  EXPECT_EQ(compared.by_exponent[126].differing, 1U);
  EXPECT_EQ(compared.by_exponent[127].differing, 31U);
  EXPECT_EQ(compared.by_exponent[127].first.a, 0x3f800000U);
  EXPECT_EQ(compared.by_slice[0].differing, 30U);
  EXPECT_EQ(compared.by_slice[15].differing, 1U);
  EXPECT_EQ(compared.by_slice[112].differing, 1U);
  EXPECT_THAT(report(model, compared),
              AllOf(HasSubstr("rcp.approx.ftz.f32: 3145728 operands, 32 differ in bits, 0 in the"),
                    HasSubstr("GPU - model in ulp: -5 and beyond 1, +1 30, one a NaN 1\n"),
                    HasSubstr("largest difference: 3f700007 (0.937500417): GPU 3f88887e"),
                    HasSubstr(", -7 ulp\n"), HasSubstr("the first 20:\n"),
                    HasSubstr("    +2^0: 31; 3f800000 (1): GPU 3f800001 (1.00000012), model "
                              "3f800000 (1), +1 ulp\n"),
                    HasSubstr("      0:        30 "), Not(HasSubstr("first NaN"))));
}

TEST_F(SpecialSweep, CountsNanPayloadsSeparately) {
  const SpecialModel& model = special_model(Special::lg2_ftz);
  const SpecialComparison compared = compare_operands(
      stand_in({{0x7f800005U, 0x7fc00000U}, {0, 0x80000000U}}), model, 0x7f800000U, 1, 16, buffer_);
  EXPECT_EQ(compared.differing, 0U);
  EXPECT_EQ(compared.nan_payloads, 1U);
  EXPECT_THAT(report(model, compared),
              HasSubstr("  first NaN of other bits: 7f800005 (nan): GPU 7fc00000 (nan), model "
                        "7fffffff (nan)\n"));
}

TEST_F(SpecialSweep, OperandsWrapAndReachLast) {
  const SpecialModel& model = special_model(Special::ex2_ftz);
  const SpecialComparison compared =
      compare_operands(stand_in({{0xffffffc0U, 0}, {0, 0}}), model, 0xff000000U, 64,
                       (0x1000000U >> 6U) + 1, buffer_);
  EXPECT_EQ(compared.differing, 2U);  // 2^0 is 1, and 2^NaN is NaN
  EXPECT_EQ(compared.first[1].a, 0U);
}

TEST_F(SpecialSweep, GroupsDivisionsByDivisor) {
  const SpecialModel& model = special_model(Special::div_full);
  const SpecialUnit wrong = [](Special instruction, const SpecialOperands& operands,
                               std::size_t count, std::uint32_t* results) {
    for (std::size_t i = 0; i < count; ++i) {
      results[i] = special_model(instruction).of_two(operands.a[i], operands.b[i]);
      if ((operands.b[i] & 0x7f800000U) == 0x40000000U) results[i] = 0;
    }
    return std::string();
  };
  const SpecialComparison compared = compare_pairs(wrong, model, 100'000, buffer_);
  EXPECT_GT(compared.differing, 1000U);
  EXPECT_EQ(compared.by_exponent[128].differing + compared.by_exponent[384].differing,
            compared.differing);
  EXPECT_THAT(report(model, compared), HasSubstr("of the divisor"));
}

TEST_F(SpecialSweep, UnitErrorEndsComparison) {
  const SpecialUnit broken = [](Special, const SpecialOperands& operands, std::size_t,
                                std::uint32_t* results) {
    results[0] = 1;
    return std::string(operands.first == 0 ? "" : "launch: broken");
  };
  const SpecialModel& model = special_model(Special::ex2_ftz);
  const SpecialComparison compared =
      compare_operands(broken, model, 0, 1, 2 * buffer_.size(), buffer_);
  EXPECT_EQ(compared.operands, buffer_.size());
  EXPECT_THAT(report(model, compared), HasSubstr("  ended early: launch: broken\n"));
}

TEST_F(SpecialSweep, LargestErrorAndNanRanksHighest) {
  const auto absolute = [](float x, float result) {
    return std::fabs(static_cast<double>(result) - std::tanh(static_cast<double>(x)));
  };
  const std::uint32_t x = 0x3f812345U;
  const auto of = [&](std::map<std::uint32_t, std::uint32_t> planted) {
    return largest_error(stand_in(std::move(planted)), Special::tanh, 0x3f800000U, 1, 400'000,
                         buffer_, absolute);
  };
  EXPECT_LT(of({}).largest, 0x1p-17);
  EXPECT_EQ(of({{x, 0x40000000U}}).operand, x);
  EXPECT_EQ(of({{x, 0x40000000U}, {0x3f800001U, 0x7fffffffU}}).operand, 0x3f800001U);
}

TEST_F(SpecialSweep, ReportsOddFunctionProperties) {
  const OddFacts plain =
      odd_facts(stand_in(), Special::tanh, 0x40fffff0U, 1000, buffer_);  // around 8
  EXPECT_EQ(plain.not_odd, 0U);
  EXPECT_EQ(plain.decreasing, 0U);
  EXPECT_EQ(plain.first_not_itself, 0x40fffff0U);
  EXPECT_EQ(plain.ones_from, 0x41000000U);
  const OddFacts planted = odd_facts(stand_in({{0xc0000003U, 0}, {0x40000005U, 0x3f000000U}}),
                                     Special::tanh, 0x40000000U, 1000, buffer_);
  EXPECT_EQ(planted.not_odd, 2U);
  EXPECT_EQ(planted.first_not_odd, 0x40000003U);
  EXPECT_EQ(planted.decreasing, 1U);
  EXPECT_EQ(planted.ones_from, std::nullopt);
  EXPECT_THAT(report(Special::tanh, planted),
              HasSubstr("tanh.approx.f32: 1000 positive operands; not odd at 2, the first 40000003 "
                        "(2.00000072); below the result before at 1\n"));
}

TEST_F(SpecialSweep, WritesDifferencesIfAny) {
  const SpecialModel& model = special_model(Special::ex2_ftz);
  const auto file = directory_ / "new" / "ex2.gz";
  EXPECT_EQ(dump_differences(stand_in(), model, buffer_, file), "");
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto at = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(dump_differences(stand_in({{at(0.5F), ptx::special_ex2(at(0.5F)) + 3},
                                       {at(-0.25F), ptx::special_ex2(at(-0.25F)) - 1},
                                       {at(0.75F), 0x7fffffffU}}),
                             model, buffer_, file),
            "");
  const std::vector<Section> sections = read_dump(file);
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].header,
            "plumbline-special 1 ex2.approx.ftz.f32 difference 16777216 fractions 1");
  const std::vector<std::int32_t>& values = sections[0].values;
  EXPECT_EQ(values[1U << 22U], 3);
  EXPECT_EQ(values[(1U << 23U) + (1U << 21U)], -1);
  EXPECT_EQ(values[3U << 21U], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(std::ranges::count(values, 0), (1 << 24) - 3);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1);
}

TEST_F(SpecialSweep, WritesResultsAsSteps) {
  SpecialDump dump(directory_ / "tanh.gz");
  EXPECT_EQ(dump_results(stand_in(), Special::tanh, 0x3f000000U, 32, 400'000, buffer_, dump), "");
  EXPECT_EQ(dump_results(stand_in(), Special::rcp_ftz, 0x3f800000U, 1, 2, buffer_, dump), "");
  EXPECT_EQ(dump.finish(), "");
  const std::vector<Section> sections = read_dump(directory_ / "tanh.gz");
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0].header, "plumbline-special 1 tanh.approx.f32 result 400000 3f000000 32");
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 400'000; ++i) {
    result += static_cast<std::uint32_t>(sections[0].values[i]);
    ASSERT_EQ(result, ptx::special_tanh(0x3f000000U + 32 * i));
  }
  EXPECT_THAT(sections[1].values, ElementsAre(0x3f800000, -2));
  SpecialDump nowhere("/proc/nowhere/tanh.gz");
  EXPECT_THAT(nowhere.finish(), HasSubstr("cannot write /proc/nowhere/tanh.gz"));
}

}  // namespace
}  // namespace plumbline::testing
