// The models against results of a GPU: an NVIDIA H200 (sm_90, driver 580.159.04) on 2026-11-26.
// Some operands of divisions and roots are those for which an earlier model differed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/special_sweep.h"

namespace plumbline::testing {
namespace {

bool is_nan(std::uint32_t bits) { return std::isnan(std::bit_cast<float>(bits)); }

struct Quotient {
  std::uint32_t a, b, of_gpu;
};
void expect_quotients(Special instruction, std::span<const Quotient> quotients) {
  for (const auto& [a, b, of_gpu] : quotients) {
    const std::uint32_t result = special_model(instruction).of_two(a, b);
    EXPECT_TRUE(result == of_gpu || (is_nan(result) && is_nan(of_gpu)))
        << fmt::format("{:08x} / {:08x}: {:08x}, GPU {:08x}", a, b, result, of_gpu);
  }
}

// Denormal dividends are zeros, for every divisor.
constexpr Quotient full_ftz[] = {
    {0x8075a453U, 0x00811580U, 0x80000000U}, {0x0035b8f3U, 0x0b677bf0U, 0x00000000U},
    {0x806828c0U, 0x2d14f880U, 0x80000000U}, {0x00280277U, 0x8701f6d5U, 0x80000000U},
    {0x00568655U, 0x3280fe98U, 0x00000000U}, {0x803bb010U, 0x185d1f89U, 0x80000000U},
    {0x005a2776U, 0xa3ab083cU, 0x80000000U}, {0x0031e73cU, 0xa3551ed9U, 0x80000000U},
    {0x800f0084U, 0xac8f0ac7U, 0x00000000U}, {0x8024f104U, 0x100a702cU, 0x80000000U},
    {0x0074d0c8U, 0xbdffbf64U, 0x80000000U}, {0x00354e8eU, 0x04e0e2d0U, 0x00000000U},
    {0x803db238U, 0xa1c830a8U, 0x00000000U}, {0x807368adU, 0x92dd75c3U, 0x00000000U},
    {0x8018af05U, 0xbe1348a7U, 0x00000000U}, {0x0072cb8aU, 0x01410290U, 0x00000000U},
    {0x00591e67U, 0xb507f0caU, 0x80000000U}, {0x00288d71U, 0xad99f48aU, 0x80000000U},
    {0x8000c384U, 0x84447476U, 0x00000000U}, {0x00728129U, 0xb99b2b36U, 0x80000000U},
    {0x8071b5ddU, 0x91260021U, 0x00000000U}, {0x807eabcdU, 0x003aac60U, 0x7fffffffU},
    {0x80177223U, 0x10bf803bU, 0x80000000U}, {0x0030620eU, 0x1ff56411U, 0x00000000U},
    {0x806e7aacU, 0x2ebf1d16U, 0x80000000U}, {0x8012e064U, 0x3d8258deU, 0x80000000U},
    {0x00549b09U, 0x8d97a262U, 0x80000000U}, {0x006628b7U, 0xbebdc660U, 0x80000000U},
};
// A divisor above 2^126 gives zero. A denormal divisor is scaled together with the dividend.
constexpr Quotient approx[] = {
    {0x0000ba25U, 0x000d0af9U, 0x3d64591cU}, {0xa6e50bb5U, 0x0015bec8U, 0xe72887c2U},
    {0xab69f5b6U, 0x8006d27cU, 0x6c892cedU}, {0x75cb540aU, 0xfee58f3eU, 0x80000000U},
    {0xd4cfdcc7U, 0x7f5f7f58U, 0x80000000U}, {0x4547325dU, 0xff5a1770U, 0x80000000U},
    {0xc8c41860U, 0xfef1809dU, 0x00000000U}, {0xcd04aa0cU, 0xfef54cf8U, 0x00000000U},
    {0xbf27adbbU, 0xff676a39U, 0x00000000U}, {0x499bc73fU, 0x7f78ace8U, 0x00000000U},
    {0xce6eb4d4U, 0x7f145acbU, 0x80000000U}, {0xb9d99479U, 0xff463be3U, 0x00000000U},
    {0x58a47b26U, 0x7f620987U, 0x00000000U}, {0x7f732ffbU, 0xfeb0427aU, 0x80000000U},
    {0xd5f72da4U, 0x7e8cb4feU, 0x80000000U}, {0x66628b77U, 0xfe808fb7U, 0x80000000U},
    {0xc61d3152U, 0xfecbb800U, 0x00000000U}, {0x7e4e75d3U, 0xff41ecfdU, 0x80000000U},
    {0xf6ab0eabU, 0xff662d7cU, 0x00000000U}, {0xb67ce91eU, 0xfeb026ddU, 0x00000000U},
    {0x77af283dU, 0x7f35fee3U, 0x00000000U}, {0xf8059125U, 0x7eb978dbU, 0x80000000U},
    {0xc64412daU, 0xff332ae6U, 0x00000000U},
};
TEST(SpecialModels, DivisionsMatchH200) {
  expect_quotients(Special::div_full_ftz, full_ftz);
  expect_quotients(Special::div_approx, approx);
}

struct Result {
  std::uint32_t x, of_gpu;
};
constexpr Result roots[] = {
    {0x00800001U, 0x20000000U}, {0x00800002U, 0x20000001U}, {0x00800003U, 0x20000001U},
    {0x00800004U, 0x20000002U}, {0x00800005U, 0x20000002U}, {0x00800006U, 0x20000003U},
    {0x00800007U, 0x20000003U}, {0x00800008U, 0x20000004U}, {0x00800009U, 0x20000004U},
    {0x0080000aU, 0x20000005U}, {0x06000000U, 0x22b504f3U}, {0x11000000U, 0x283504f3U},
    {0x1c000000U, 0x2db504f3U}, {0x27000000U, 0x333504f3U}, {0x32000000U, 0x38b504f3U},
    {0x3d000000U, 0x3e3504f3U}, {0x48000000U, 0x43b504f3U}, {0x53000000U, 0x493504f3U},
    {0x5e000000U, 0x4eb504f3U}, {0x69000000U, 0x543504f3U}, {0x74000000U, 0x59b504f3U},
    {0x7f000000U, 0x5f3504f3U}, {0x016bea6fU, 0x2075c0b6U},
};
constexpr Result denormal_roots[] = {
    {0x00000001U, 0x1a3504f3U}, {0x00000003U, 0x1a9cc470U}, {0x00000004U, 0x1ab504f3U},
    {0x00000006U, 0x1addb3d7U}, {0x00000007U, 0x1aef7750U}, {0x0000000aU, 0x1b0f1bbcU},
    {0x0000000bU, 0x1b1617e2U}, {0x0000000cU, 0x1b1cc470U}, {0x0000000eU, 0x1b2953fdU},
    {0x0000000fU, 0x1b2f456eU}, {0x00000010U, 0x1b3504f3U}, {0x00000011U, 0x1b3a9728U},
    {0x00000012U, 0x1b400000U}, {0x00000013U, 0x1b4542e1U}, {0x00000015U, 0x1b4f623aU},
    {0x00000016U, 0x1b544394U}, {0x00000017U, 0x1b5908d8U}, {0x00000018U, 0x1b5db3d7U},
    {0x00000019U, 0x1b624630U}, {0x0000001bU, 0x1b6b26a9U}, {0x00007619U, 0x1df5e5faU},
};
TEST(SpecialModels, RootsMatchH200) {
  for (const auto& [x, of_gpu] : roots) {
    EXPECT_EQ(special_model(Special::sqrt_ftz).of_one(x), of_gpu) << fmt::format("{:08x}", x);
    EXPECT_EQ(special_model(Special::sqrt).of_one(x), of_gpu) << fmt::format("{:08x}", x);
  }
  for (const auto& [x, of_gpu] : denormal_roots)
    EXPECT_EQ(special_model(Special::sqrt).of_one(x), of_gpu) << fmt::format("{:08x}", x);
}

// The ends, and one operand of each slice. The function is odd.
constexpr Result hyperbolic_tangents[] = {
    {0x00000000U, 0x00000000U}, {0x00000001U, 0x00000001U}, {0x007fffffU, 0x007fffffU},
    {0x00800000U, 0x00800000U}, {0x3b800000U, 0x3b800000U}, {0x3f800000U, 0x3f42f848U},
    {0x41000000U, 0x3f800000U}, {0x7f800000U, 0x3f800000U}, {0x3bbc9160U, 0x3bbc9106U},
    {0x3c418340U, 0x3c4180f0U}, {0x3ce0a940U, 0x3ce09aceU}, {0x3d3cd460U, 0x3d3cb23bU},
    {0x3d423b00U, 0x3d4215dfU}, {0x3d8939e0U, 0x3d8905a1U}, {0x3df4ab00U, 0x3df38294U},
    {0x3e1e5b40U, 0x3e1d1b29U}, {0x3e27f9a0U, 0x3e267c20U}, {0x3e49fa80U, 0x3e476654U},
    {0x3e7bcf00U, 0x3e76da4fU}, {0x3e8d8be0U, 0x3e8a0c37U}, {0x3ea8bdc0U, 0x3ea2e30eU},
    {0x3eda7c80U, 0x3ece1fa5U}, {0x3ee83940U, 0x3ed98279U}, {0x3f0c80eaU, 0x3effd25dU},
    {0x3f343f11U, 0x3f1b6186U}, {0x3f5122f7U, 0x3f2c640fU}, {0x3f61d453U, 0x3f351e4dU},
    {0x3f8e8d00U, 0x3f4e2c1eU}, {0x3f9dc83eU, 0x3f57e648U}, {0x3fabeed6U, 0x3f5f58feU},
    {0x3fbd5339U, 0x3f66bbe7U}, {0x3fc8611eU, 0x3f6a92c4U}, {0x3fdcfd4eU, 0x3f704ae1U},
    {0x3fe4f0c9U, 0x3f721372U}, {0x3ff6f81eU, 0x3f756c8fU}, {0x40064ea0U, 0x3f786a26U},
    {0x4008fdc0U, 0x3f790409U}, {0x40126ce0U, 0x3f7ac7dfU}, {0x4018fec0U, 0x3f7bbdd3U},
    {0x4023a0c0U, 0x3f7cf033U}, {0x402fd0a0U, 0x3f7de769U}, {0x40311280U, 0x3f7dfc02U},
    {0x403b1100U, 0x3f7e8605U}, {0x40433980U, 0x3f7edae4U}, {0x404f3b20U, 0x3f7f3676U},
    {0x4051a0a0U, 0x3f7f44f7U}, {0x405c0480U, 0x3f7f78c7U}, {0x40621920U, 0x3f7f9026U},
    {0x40682880U, 0x3f7fa371U}, {0x407600a0U, 0x3f7fc3f0U}, {0x40787f00U, 0x3f7fc86fU},
    {0x40847c80U, 0x3f7fdea9U}, {0x4097f8c0U, 0x3f7ff62fU}, {0x40a7c340U, 0x3f7ffc55U},
    {0x40b1dee0U, 0x3f7ffe0bU}, {0x40cfb100U, 0x3f7fffb2U}, {0x40dbfc40U, 0x3f7fffddU},
    {0x40ef62e0U, 0x3f7ffff3U}, {0x40f17940U, 0x3f7ffff5U},
};
TEST(SpecialModels, HyperbolicTangentsMatchH200) {
  constexpr std::uint32_t sign_bit = 1U << 31U;
  const auto tanh = special_model(Special::tanh).of_one;
  for (const auto& [x, of_gpu] : hyperbolic_tangents) {
    EXPECT_EQ(tanh(x), of_gpu) << fmt::format("{:08x}", x);
    EXPECT_EQ(tanh(x | sign_bit), of_gpu | sign_bit) << fmt::format("{:08x}", x | sign_bit);
  }
}
constexpr Result sines[] = {
    {0x00000000U, 0x00000000U}, {0x00000001U, 0x00000000U}, {0x80000001U, 0x80000000U},
    {0x80800000U, 0x80000000U}, {0x3f800000U, 0x3f576aa3U}, {0xbf800000U, 0xbf576aa3U},
    {0x7f7fffffU, 0x00000000U}, {0xff7fffffU, 0x80000000U}, {0x3e404120U, 0x3e3f2066U},
    {0xbe404120U, 0xbe3f2066U}, {0x7f800000U, 0x7fffffffU}, {0x39e9e180U, 0x39e9dc8cU},
    {0x3a307a00U, 0x3a3079d2U}, {0x3a51dd40U, 0x3a51db3dU}, {0x3ae8c4c0U, 0x3ae8c158U},
    {0x3b029840U, 0x3b0296b6U}, {0x3b764a40U, 0x3b7649f1U}, {0x3b8ff080U, 0x3b8ff061U},
    {0x3bbd1900U, 0x3bbd1945U}, {0x3bcaf300U, 0x3bcaf278U}, {0x3c02f880U, 0x3c02f7c6U},
    {0x3c9a83c0U, 0x3c9a80eaU}, {0x3ce26e80U, 0x3ce26704U}, {0x3dafca40U, 0x3daf9306U},
    {0x3db78cc0U, 0x3db74dd0U}, {0x3e002f80U, 0x3dffb3a9U}, {0x3e6e4500U, 0x3e6c200bU},
    {0x3ef6d400U, 0x3eed60b3U}, {0x3f995080U, 0x3f6e64faU}, {0x3f9b4cc0U, 0x3f6fd014U},
    {0x3fc82080U, 0x3f7ffe41U}, {0x401a0800U, 0x3f2ba483U}, {0x40f24780U, 0x3f75d59bU},
};
constexpr Result cosines[] = {
    {0x00000000U, 0x3f800000U}, {0x80000001U, 0x3f800000U}, {0x3f800000U, 0x3f0a5141U},
    {0xbf800000U, 0x3f0a5141U}, {0xff7fffffU, 0x3f800000U}, {0x3fe12090U, 0xbe3f63b8U},
    {0xbfe12090U, 0xbe3f63b8U}, {0xff800000U, 0x7fffffffU},
};
TEST(SpecialModels, SinesAndCosinesMatchH200) {
  for (const auto& [x, of_gpu] : sines)
    EXPECT_EQ(special_model(Special::sin).of_one(x), of_gpu) << fmt::format("{:08x}", x);
  for (const auto& [x, of_gpu] : cosines)
    EXPECT_EQ(special_model(Special::cos).of_one(x), of_gpu) << fmt::format("{:08x}", x);
}
// The H200's result for one operand is 26240 times below that of the operand before. Few of its
// results are stored, so this count stands for the others.
TEST(SpecialModels, TanhDecreasesMatchH200) {
  const auto tanh = special_model(Special::tanh).of_one;
  int falls = 0;
  std::uint32_t before = 0;
  for (std::uint32_t x = 0x3b000000U; x <= 0x41000000U; ++x) {  // [2^-9, 8]
    const std::uint32_t result = tanh(x);
    if (result < before) ++falls;
    before = result;
  }
  EXPECT_EQ(falls, 26240);
}

}  // namespace
}  // namespace plumbline::testing
