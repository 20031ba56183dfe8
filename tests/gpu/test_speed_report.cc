// The report of measured speed, from invented figures.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "tests/gpu/speed_report.h"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MeasuredKernel kernel(const char* shape, const char* name, double milliseconds, double work,
                      const char* limit) {
  MeasuredKernel k;
  k.shape = shape;
  k.kernel = name;
  k.dtype = "fp16";
  k.work = work;
  k.limit = limit;
  k.times = {"", milliseconds, milliseconds * 0.9, milliseconds * 1.1, 51};
  k.description.registers_per_thread = 96;
  k.description.shared_memory_bytes = 69632;
  std::strcpy(k.description.launched, "prefill_mma \"tile\"");
  std::strcpy(k.description.tensor_cores, "on");
  return k;
}

SpeedReport measured() {
  SpeedReport report;
  report.limits = {{"copy", {"", 4e12}}, {"mma_f16", {"", 600e12}}};
  report.kernels = {kernel("s4_decode", "decode_mma", 0.5, 1e9, "copy"),
                    kernel("s4_decode", "decode_simt", 0.75, 1e9, "copy"),
                    kernel("prefill", "prefill_mma", 2, 300e9, "mma_f16")};
  return report;
}

TEST(SpeedReport, RatesAndShares) {
  const SpeedReport report = measured();
  EXPECT_DOUBLE_EQ(rate_of(report.kernels[0]), 2e12);
  EXPECT_DOUBLE_EQ(share_of(report, report.kernels[0]), 0.5);
  EXPECT_DOUBLE_EQ(share_of(report, report.kernels[2]), 0.25);
  EXPECT_THAT(failed(report), IsEmpty());
  const std::string text = markdown(report);
  EXPECT_THAT(text, HasSubstr("| s4_decode | decode_mma | fp16 | 0.5000 (0.4500 to 0.5500, 51) | "
                              "2000 GB/s | 50 % of copy | 96 | 69.63 |"));
  EXPECT_THAT(text, HasSubstr("| 150.0 TFLOP/s | 25 % of mma_f16 |"));
  EXPECT_THAT(text, HasSubstr("- decode_simt : decode_mma = 1.500"));
  EXPECT_THAT(text, HasSubstr("- decode_simt : prefill_mma = not measured"));
}

TEST(SpeedReport, WritesFiguresAsToml) {
  const std::string text = toml(measured());
  EXPECT_THAT(text, HasSubstr("[limits]\ncopy_gb_per_s = 4000\nmma_f16_tflop_per_s = 600\n"));
  EXPECT_THAT(text, HasSubstr("[s4]\ndecode_simt_over_decode_mma = 1.5\n\n[[kernel]]"));
  EXPECT_THAT(text, HasSubstr("launched = \"prefill_mma \\\"tile\\\"\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

// A limit that failed gives no share, and every failure is listed.
TEST(SpeedReport, NamesFailures) {
  SpeedReport report = measured();
  report.limits[0].second = {"out of memory", 0};
  report.kernels[2].error = "misaligned address";
  report.kernels[1].error = "needs more shared memory";
  report.kernels[1].unsupported = true;
  EXPECT_TRUE(std::isnan(share_of(report, report.kernels[0])));
  EXPECT_THAT(failed(report),
              ElementsAre("copy: out of memory", "prefill prefill_mma : misaligned address",
                          "s4_decode decode_simt was not measured"));
  EXPECT_THAT(markdown(report), HasSubstr("FAILED: misaligned address"));
  EXPECT_THAT(markdown(report), HasSubstr("unsupported: needs more shared memory"));
  EXPECT_THAT(toml(report), HasSubstr("error = \"misaligned address\""));
  EXPECT_THAT(toml(report), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace plumbline::testing
