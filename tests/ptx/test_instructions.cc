// One instruction per row, all with the same operands. The expected results follow the PTX ISA and
// are written independently of the translation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

float f32(U64 bits) { return std::bit_cast<float>(static_cast<U32>(bits)); }
double f64(U64 bits) { return std::bit_cast<double>(bits); }
U64 of(float x) { return std::isnan(x) ? 0x7fffffffU : std::bit_cast<U32>(x); }
U64 of(double x) { return std::isnan(x) ? 0x7fffffffffffffffU : std::bit_cast<U64>(x); }
S32 s32(U64 x) { return static_cast<S32>(x); }
U32 u32(U64 x) { return static_cast<U32>(x); }
S16 s16(U64 x) { return static_cast<S16>(x); }
U16 u16(U64 x) { return static_cast<U16>(x); }
float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
float bf(U64 bits) { return f32(U64{u16(bits)} << 16U); }
float half(U64 bits) { return static_cast<float>(std::bit_cast<_Float16>(u16(bits))); }
// Rounds to nearest even by searching among neighbours: slow, but independent of the translation.
template <class Value>
U16 nearest16(double x, const Value& value) {
  if (std::isnan(x)) return 0x7fff;
  const U16 sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  U32 low = 0, high = 0x7fff;  // codes grow with magnitude, and NaN codes are above all others
  while (high - low > 1) {
    const U32 middle = (low + high) / 2;
    const double here = static_cast<double>(value(middle));
    (here <= magnitude ? low : high) = middle;  // NaN: high
  }
  const double below = static_cast<double>(value(low)), above = static_cast<double>(value(low + 1));
  if (below == magnitude || std::isinf(below)) return sign | static_cast<U16>(low);
  // Above the largest finite number, the next code counts as if the exponent continued.
  const double next =
      std::isinf(above) ? below + (below - static_cast<double>(value(low - 1))) : above;
  const double from_below = magnitude - below, to_next = next - magnitude;
  const bool up = from_below > to_next || (from_below == to_next && (low & 1U) != 0);
  return sign | static_cast<U16>(up ? low + 1 : low);
}
U16 to_bf(double x) {
  return nearest16(x, [](U32 code) { return bf(code); });
}
U16 to_half(double x) {
  return nearest16(x, [](U32 code) { return half(code); });
}

// `destination`: the register that the row writes. a, b and c are operands of 64 bits. %r1 to %r3,
// %f1 to %f3, %h1 to %h3 hold their low bits, %y1 to %y3 all bits, and %p1 to %p3 whether a, b, c
// are odd.
struct Row {
  std::string_view text;
  char destination;  // 'r', 'f', 'y', 'h', 'p': %r0, %f0, %y0, %h0, %p0; 'd': %y0 as a double
  std::function<U64(U64, U64, U64)> expected;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"add.s32 %r0, %r1, %r2;", 'r', [](U64 a, U64 b, U64) { return u32(a + b); }},
      {"sub.u64 %y0, %y1, %y2;", 'y', [](U64 a, U64 b, U64) { return a - b; }},
      {"add.sat.s32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) {
         return u32(static_cast<U64>(std::clamp<S64>(S64{s32(a)} + s32(b), INT32_MIN, INT32_MAX)));
       }},
      {"mul.lo.s32 %r0, %r1, %r2;", 'r', [](U64 a, U64 b, U64) { return u32(a * b); }},
      {"mul.hi.s32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) { return u32(static_cast<U64>(S64{s32(a)} * s32(b)) >> 32U); }},
      {"mul.hi.u32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) { return u32(U64{u32(a)} * u32(b) >> 32U); }},
      {"mul.hi.u64 %y0, %y1, %y2;", 'y',
       [](U64 a, U64 b, U64) {
         const U64 al = u32(a), ah = a >> 32U, bl = u32(b), bh = b >> 32U;  // long multiplication
         const U64 middle = ah * bl + (al * bl >> 32U), rest = al * bh + u32(middle);
         return ah * bh + (middle >> 32U) + (rest >> 32U);
       }},
      {"mul.wide.s32 %y0, %r1, %r2;", 'y',
       [](U64 a, U64 b, U64) { return static_cast<U64>(S64{s32(a)} * s32(b)); }},
      {"mul.wide.u16 %r0, %h1, %h2;", 'r',
       [](U64 a, U64 b, U64) { return U64{U32{u16(a)} * U32{u16(b)}}; }},
      {"mad.wide.u32 %y0, %r1, %r2, %y3;", 'y',
       [](U64 a, U64 b, U64 c) { return U64{u32(a)} * u32(b) + c; }},
      {"mad.lo.s32 %r0, %r1, %r2, %r3;", 'r', [](U64 a, U64 b, U64 c) { return u32(a * b + c); }},
      {"mul.lo.s16 %h0, %h1, %h2;", 'h', [](U64 a, U64 b, U64) { return u16(a * b); }},
      {"add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 0;", 'r',
       [](U64 a, U64 b, U64 c) { return u32(c + ((U64{u32(a)} + u32(b)) >> 32U)); }},
      {"sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 0;", 'r',
       [](U64 a, U64 b, U64 c) { return u32(c - (u32(a) < u32(b) ? 1 : 0)); }},
      {"or.b32 %r4, %r2, 1; div.s32 %r0, %r1, %r4;", 'r',
       [](U64 a, U64 b, U64) { return u32(static_cast<U64>(S64{s32(a)} / s32(b | 1))); }},
      {"or.b64 %y4, %y2, 1; rem.u64 %y0, %y1, %y4;", 'y',
       [](U64 a, U64 b, U64) { return a % (b | 1); }},
      {"min.s32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) { return u32(static_cast<U64>(std::min(s32(a), s32(b)))); }},
      {"max.u32 %r0, %r1, %r2;", 'r', [](U64 a, U64 b, U64) { return std::max(u32(a), u32(b)); }},
      {"neg.s32 %r0, %r1;", 'r', [](U64 a, U64, U64) { return u32(0 - a); }},
      {"abs.s32 %r0, %r1;", 'r', [](U64 a, U64, U64) { return s32(a) < 0 ? u32(0 - a) : u32(a); }},
      {"sad.u32 %r0, %r1, %r2, %r3;", 'r',
       [](U64 a, U64 b, U64 c) {
         return u32(c + (u32(a) < u32(b) ? u32(b) - u32(a) : u32(a) - u32(b)));
       }},
      {"shl.b32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) { return u32(b) > 31 ? 0 : u32(a) << u32(b); }},
      {"shr.s32 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) { return u32(static_cast<U64>(s32(a) >> std::min(u32(b), 31U))); }},
      {"shr.u64 %y0, %y1, %r2;", 'y',
       [](U64 a, U64 b, U64) { return u32(b) > 63 ? 0 : a >> u32(b); }},
      {"and.b32 %r4, %r3, 40; shf.l.clamp.b32 %r0, %r1, %r2, %r4;", 'r',
       [](U64 a, U64 b, U64 c) {
         const U32 n = std::min(u32(c) & 40U, 32U);
         return u32(((b << 32U | u32(a)) << n) >> 32U);
       }},
      {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 'r',
       [](U64 a, U64 b, U64 c) { return u32(((b & 0xffffffffU) << 32U | u32(a)) >> (c & 31U)); }},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0xE8;", 'r',  // the majority
       [](U64 a, U64 b, U64 c) { return u32((a & b) | (a & c) | (b & c)); }},
      {"prmt.b32 %r0, %r1, %r2, 0x5410;", 'r',
       [](U64 a, U64 b, U64) { return u16(a) | u32(b << 16U); }},
      {"prmt.b32 %r0, %r1, %r2, 0xB3;", 'r',  // byte 3, then the sign of byte 3, and byte 0 twice
       [](U64 a, U64, U64) {
         const U32 top = u32(a) >> 24U;
         return top | (top >= 128 ? 0xff00U : 0U) | (u32(a) & 255U) * 0x01010000U;
       }},
      {"bfe.u32 %r0, %r1, 5, 9;", 'r', [](U64 a, U64, U64) { return u32(a) >> 5U & 511U; }},
      {"bfe.s32 %r0, %r1, 5, 9;", 'r',
       [](U64 a, U64, U64) {
         const U32 field = u32(a) >> 5U & 511U;
         return field >= 256 ? field - 512 : field;
       }},
      {"bfe.s32 %r0, %r1, 28, 9;", 'r',
       [](U64 a, U64, U64) { return u32(static_cast<U64>(s32(a) >> 28)); }},
      {"bfi.b32 %r0, %r1, %r2, 7, 12;", 'r',
       [](U64 a, U64 b, U64) { return (u32(b) & ~0x7ff80U) | (u32(a) << 7U & 0x7ff80U); }},
      {"clz.b32 %r0, %r1;", 'r', [](U64 a, U64, U64) { return U64(std::countl_zero(u32(a))); }},
      {"popc.b64 %r0, %y1;", 'r', [](U64 a, U64, U64) { return U64(std::popcount(a)); }},
      {"brev.b32 %r0, %r1;", 'r',
       [](U64 a, U64, U64) {
         U32 out = 0;
         for (U32 i = 0; i < 32; ++i) out |= (u32(a) >> i & 1U) << (31 - i);
         return out;
       }},
      {"bfind.s32 %r0, %r1;", 'r',
       [](U64 a, U64, U64) {
         const U32 word = s32(a) < 0 ? ~u32(a) : u32(a);
         return word == 0 ? ~0U : 31U - static_cast<U32>(std::countl_zero(word));
       }},
      {"not.pred %p0, %p1;", 'p', [](U64 a, U64, U64) { return ~a & 1U; }},
      {"xor.pred %p0, %p1, %p2;", 'p', [](U64 a, U64 b, U64) { return (a ^ b) & 1U; }},
      {"selp.b32 %r0, %r1, %r2, %p3;", 'r',
       [](U64 a, U64 b, U64 c) { return (c & 1U) != 0 ? u32(a) : u32(b); }},
      {"selp.f32 %f0, %f1, 0fBF800000, %p3;", 'f',
       [](U64 a, U64, U64 c) { return (c & 1U) != 0 ? of(f32(a)) : of(-1.0F); }},
      {"mov.u32 %r0, 7; @%p1 mov.u32 %r0, 9;", 'r',
       [](U64 a, U64, U64) { return U64{(a & 1U) != 0 ? 9U : 7U}; }},
      {"mov.b32 {%h4, %h5}, %r1; mov.b32 %r0, {%h5, %h4};", 'r',
       [](U64 a, U64, U64) { return u32(a) >> 16U | u32(a) << 16U; }},
      {"mov.b64 {%r4, _}, %y1; mov.u32 %r0, %r4;", 'r', [](U64 a, U64, U64) { return u32(a); }},
      {"setp.lt.s32 %p0, %r1, %r2;", 'p', [](U64 a, U64 b, U64) { return U64{s32(a) < s32(b)}; }},
      {"setp.hi.u32 %p0, %r1, %r2;", 'p', [](U64 a, U64 b, U64) { return U64{u32(a) > u32(b)}; }},
      {"setp.ge.and.s64 %p0|%p4, %y1, %y2, %p3;", 'p',
       [](U64 a, U64 b, U64 c) {
         return U64{static_cast<S64>(a) >= static_cast<S64>(b)} & c & 1U;
       }},
      {"setp.ge.and.s64 %p4|%p0, %y1, %y2, !%p3;", 'p',
       [](U64 a, U64 b, U64 c) {
         return U64{static_cast<S64>(a) < static_cast<S64>(b)} & ~c & 1U;
       }},
      {"setp.lt.f32 %p0, %f1, %f2;", 'p', [](U64 a, U64 b, U64) { return U64{f32(a) < f32(b)}; }},
      {"setp.ne.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) {
         return U64{!std::isnan(f32(a)) && !std::isnan(f32(b)) && f32(a) != f32(b)};
       }},
      {"setp.neu.ftz.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) { return U64{!(flushed(f32(a)) == flushed(f32(b)))}; }},
      {"setp.gtu.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) { return U64{!(f32(a) <= f32(b))}; }},
      {"setp.num.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) { return U64{!std::isnan(f32(a)) && !std::isnan(f32(b))}; }},
      {"setp.lt.bf16 %p0, %h1, %h2;", 'p', [](U64 a, U64 b, U64) { return U64{bf(a) < bf(b)}; }},
      {"add.f32 %f0, %f1, %f2;", 'f', [](U64 a, U64 b, U64) { return of(f32(a) + f32(b)); }},
      {"sub.ftz.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) { return of(flushed(flushed(f32(a)) - flushed(f32(b)))); }},
      {"mul.rn.f32 %f0, %f1, %f2;", 'f', [](U64 a, U64 b, U64) { return of(f32(a) * f32(b)); }},
      {"mul.ftz.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) { return of(flushed(flushed(f32(a)) * flushed(f32(b)))); }},
      {"add.sat.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) {
         const float sum = f32(a) + f32(b);
         return of(sum > 0 ? std::min(sum, 1.0F) : 0.0F);
       }},
      {"fma.rn.f32 %f0, %f1, %f2, %f3;", 'f',
       [](U64 a, U64 b, U64 c) { return of(std::fma(f32(a), f32(b), f32(c))); }},
      {"fma.rm.f32 %f0, %f1, %f2, %f3;", 'f',
       [](U64 a, U64 b, U64 c) {
         volatile float x = f32(a), y = f32(b), z = f32(c);
         std::fesetround(FE_DOWNWARD);
         const volatile float result = std::fma(x, y, z);
         std::fesetround(FE_TONEAREST);
         return of(static_cast<float>(result));
       }},
      {"fma.rn.f32 %f0, %f1, 0.5, -1.;", 'f',
       [](U64 a, U64, U64) { return of(std::fma(f32(a), 0.5F, -1.0F)); }},
      {"fma.rn.f32 %f0, %f1, 0f3F000000, 0fBF000000;", 'f',
       [](U64 a, U64, U64) { return of(std::fma(f32(a), 0.5F, -0.5F)); }},
      {"min.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) {
         const float x = f32(a), y = f32(b);
         if (x == y) return of(std::signbit(x) ? x : y);
         return of(std::isnan(x) || y < x ? y : x);
       }},
      {"max.NaN.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) {
         const float x = f32(a), y = f32(b);
         if (std::isnan(x) || std::isnan(y)) return U64{0x7fffffff};
         return of(x > y || (x == y && !std::signbit(x)) ? x : y);
       }},
      {"max.f32 %f0, %f1, %f2, %f3;", 'f',
       [](U64 a, U64 b, U64 c) {
         float most = std::numeric_limits<float>::quiet_NaN();
         for (const U64 each : {a, b, c}) {
           const float x = f32(each);
           if (std::isnan(most) || x > most || (x == most && !std::signbit(x))) most = x;
         }
         return of(most);
       }},
      {"neg.ftz.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(-flushed(f32(a))); }},
      {"abs.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(std::fabs(f32(a))); }},
      {"div.rn.f32 %f0, %f1, %f2;", 'f', [](U64 a, U64 b, U64) { return of(f32(a) / f32(b)); }},
      {"rcp.rn.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(1 / f32(a)); }},
      {"sqrt.rn.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(std::sqrt(f32(a))); }},
      {"add.f64 %y0, %y1, %y2;", 'd', [](U64 a, U64 b, U64) { return of(f64(a) + f64(b)); }},
      {"fma.rn.f64 %y0, %y1, %y2, %y3;", 'd',
       [](U64 a, U64 b, U64 c) { return of(std::fma(f64(a), f64(b), f64(c))); }},
      {"cvt.rn.f32.s32 %f0, %r1;", 'f',
       [](U64 a, U64, U64) { return of(static_cast<float>(s32(a))); }},
      {"cvt.rn.f32.u64 %f0, %y1;", 'f', [](U64 a, U64, U64) { return of(static_cast<float>(a)); }},
      {"cvt.s64.s32 %y0, %r1;", 'y', [](U64 a, U64, U64) { return static_cast<U64>(S64{s32(a)}); }},
      {"cvt.u32.s16 %r0, %h1;", 'r',
       [](U64 a, U64, U64) { return u32(static_cast<U64>(S64{s16(a)})); }},
      {"cvt.sat.s16.s32 %h0, %r1;", 'h',
       [](U64 a, U64, U64) { return u16(static_cast<U64>(std::clamp(s32(a), -32768, 32767))); }},
      {"cvt.rzi.s32.f32 %r0, %f1;", 'r',
       [](U64 a, U64, U64) {
         const float x = f32(a);
         if (std::isnan(x)) return U64{0};
         const double whole = std::clamp(std::trunc(static_cast<double>(x)), -0x1p31, 0x1p31 - 1);
         return U64{u32(static_cast<U64>(static_cast<S64>(whole)))};
       }},
      {"cvt.rni.u32.f32 %r0, %f1;", 'r',
       [](U64 a, U64, U64) {
         const float x = f32(a);
         if (std::isnan(x)) return U64{0};
         return U64{
             static_cast<U32>(std::clamp(std::nearbyint(static_cast<double>(x)), 0.0, 0x1p32 - 1))};
       }},
      {"cvt.rmi.f32.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(std::floor(f32(a))); }},
      {"cvt.f64.f32 %y0, %f1;", 'd',
       [](U64 a, U64, U64) { return of(static_cast<double>(f32(a))); }},
      {"cvt.rn.f32.f64 %f0, %y1;", 'f',
       [](U64 a, U64, U64) { return of(static_cast<float>(f64(a))); }},
      {"cvt.rn.bf16.f32 %h0, %f1;", 'h',
       [](U64 a, U64, U64) { return U64{to_bf(static_cast<double>(f32(a)))}; }},
      {"cvt.rn.f16.f32 %h0, %f1;", 'h',
       [](U64 a, U64, U64) { return U64{to_half(static_cast<double>(f32(a)))}; }},
      {"cvt.rn.bf16x2.f32 %r0, %f1, %f2;", 'r',
       [](U64 a, U64 b, U64) {
         return U64{to_bf(static_cast<double>(f32(b)))} | U64{to_bf(static_cast<double>(f32(a)))}
                                                              << 16U;
       }},
      {"cvt.rz.f16.f32 %h0, %f1;", 'h',
       [](U64 a, U64, U64) {
         const auto x = static_cast<double>(f32(a));
         U32 code = to_half(x);
         if (!std::isnan(x) && std::fabs(static_cast<double>(half(code))) > std::fabs(x)) --code;
         return U64{code};
       }},
      {"cvt.f32.f16 %f0, %h1;", 'f', [](U64 a, U64, U64) { return of(half(a)); }},
      {"cvt.f32.bf16 %f0, %h1;", 'f', [](U64 a, U64, U64) { return of(bf(a)); }},
      {"cvt.rna.tf32.f32 %r0, %f1;", 'f',
       [](U64 a, U64, U64) {
         const float x = f32(a);
         if (!std::isfinite(x)) return of(x);
         return of(std::bit_cast<float>((std::bit_cast<U32>(x) + 0x1000U) & 0xffffe000U));
       }},
      {"add.rn.bf16 %h0, %h1, %h2;", 'h',
       [](U64 a, U64 b, U64) {
         return U64{to_bf(static_cast<double>(static_cast<long double>(bf(a)) + bf(b)))};
       }},
      {"mul.f16 %h0, %h1, %h2;", 'h',
       [](U64 a, U64 b, U64) {
         return U64{to_half(static_cast<double>(half(a)) * static_cast<double>(half(b)))};
       }},
      {"fma.rn.f16x2 %r0, %r1, %r2, %r3;", 'r',
       [](U64 a, U64 b, U64 c) {
         const auto one = [](U64 x, U64 y, U64 z) {
           return to_half(std::fma(static_cast<double>(half(x)), static_cast<double>(half(y)),
                                   static_cast<double>(half(z))));
         };
         return U64{one(a, b, c)} | U64{one(a >> 16U, b >> 16U, c >> 16U)} << 16U;
       }},
      {"max.bf16x2 %r0, %r1, %r2;", 'r',
       [](U64 a, U64 b, U64) {
         const auto one = [](U64 x, U64 y) {
           if (std::isnan(bf(x))) return std::isnan(bf(y)) ? U16{0x7fff} : u16(y);
           if (std::isnan(bf(y))) return u16(x);
           return bf(x) > bf(y) || (bf(x) == bf(y) && !std::signbit(bf(x))) ? u16(x) : u16(y);
         };
         return U64{one(a, b)} | U64{one(a >> 16U, b >> 16U)} << 16U;
       }},
  };
  return all;
}

U64 larger(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return of(std::isnan(x) ? y : x);
  return of(x > y || (x == y && !std::signbit(x)) ? x : y);
}

// Instructions of a kernel whose arithmetic all has .ftz, so that the processor can flush its
// denormal numbers (emulator/ptx/flush.h).
const std::vector<Row>& flushing_rows() {
  static const auto on = [](float (*of_flushed)(float, float, float)) {
    return [of_flushed](U64 a, U64 b, U64 c) {
      return of(flushed(of_flushed(flushed(f32(a)), flushed(f32(b)), flushed(f32(c)))));
    };
  };
  static const std::vector<Row> all{
      {"add.ftz.f32 %f0, %f1, %f2;", 'f', on([](float a, float b, float) { return a + b; })},
      {"sub.ftz.f32 %f0, %f1, %f2;", 'f', on([](float a, float b, float) { return a - b; })},
      {"mul.ftz.f32 %f0, %f1, %f2;", 'f', on([](float a, float b, float) { return a * b; })},
      // A multiplication that a compiler must not remove.
      {"mul.ftz.f32 %f0, %f1, 0f3F800000;", 'f', on([](float a, float, float) { return a; })},
      {"mul.ftz.f32 %f0, %f1, 0fBF800000;", 'f', on([](float a, float, float) { return -a; })},
      {"add.ftz.f32 %f0, %f1, 0f80000000;", 'f',
       on([](float a, float, float) { return a + -0.0F; })},
      {"sub.ftz.f32 %f0, %f1, 0f00000000;", 'f',
       on([](float a, float, float) { return a - 0.0F; })},
      {"div.rn.ftz.f32 %f0, %f1, 0f3F800000;", 'f', on([](float a, float, float) { return a; })},
      {"fma.rn.ftz.f32 %f0, %f1, %f2, %f3;", 'f',
       on([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"fma.rn.ftz.f32 %f0, %f1, 0f3F800000, 0f80000000;", 'f',
       on([](float a, float, float) { return a + -0.0F; })},
      {"add.ftz.sat.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) {
         const float sum = flushed(flushed(f32(a)) + flushed(f32(b)));
         return of(sum > 0 ? std::min(sum, 1.0F) : 0.0F);
       }},
      {"div.rn.ftz.f32 %f0, %f1, %f2;", 'f', on([](float a, float b, float) { return a / b; })},
      {"rcp.rn.ftz.f32 %f0, %f1;", 'f', on([](float a, float, float) { return 1 / a; })},
      {"sqrt.rn.ftz.f32 %f0, %f1;", 'f', on([](float a, float, float) { return std::sqrt(a); })},
      {"min.ftz.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) {
         const U64 negative = larger(-flushed(f32(a)), -flushed(f32(b)));
         return of(-f32(negative));
       }},
      {"max.ftz.f32 %f0, %f1, %f2;", 'f',
       [](U64 a, U64 b, U64) { return larger(flushed(f32(a)), flushed(f32(b))); }},
      {"max.ftz.f32 %f0, %f1, 0f00000000;", 'f',
       [](U64 a, U64, U64) { return larger(flushed(f32(a)), 0.0F); }},
      {"neg.ftz.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(-flushed(f32(a))); }},
      {"neg.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(-f32(a)); }},
      {"abs.ftz.f32 %f0, %f1;", 'f',
       [](U64 a, U64, U64) { return of(std::fabs(flushed(f32(a)))); }},
      {"setp.lt.ftz.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) { return U64{flushed(f32(a)) < flushed(f32(b))}; }},
      {"setp.equ.ftz.f32 %p0, %f1, %f2;", 'p',
       [](U64 a, U64 b, U64) {
         const float x = flushed(f32(a)), y = flushed(f32(b));
         return U64{!(x < y) && !(x > y)};
       }},
      {"setp.gt.ftz.f32 %p0, %f1, 0f00000000;", 'p',
       [](U64 a, U64, U64) { return U64{flushed(f32(a)) > 0}; }},
      // Bit operations, and conversions, which keep denormal numbers unless they have .ftz
      // themselves.
      {"selp.f32 %f0, %f1, %f2, %p3;", 'f',
       [](U64 a, U64 b, U64 c) { return (c & 1U) != 0 ? of(f32(a)) : of(f32(b)); }},
      {"mov.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(f32(a)); }},
      {"cvt.rn.f32.s32 %f0, %r1;", 'f',
       [](U64 a, U64, U64) { return of(static_cast<float>(s32(a))); }},
      {"cvt.rmi.ftz.f32.f32 %f0, %f1;", 'f',
       [](U64 a, U64, U64) { return of(std::floor(flushed(f32(a)))); }},
      {"cvt.ftz.f32.f32 %f0, %f1;", 'f', [](U64 a, U64, U64) { return of(flushed(f32(a))); }},
      {"cvt.rn.bf16.f32 %h0, %f1;", 'h',
       [](U64 a, U64, U64) { return U64{to_bf(static_cast<double>(f32(a)))}; }},
      {"cvt.rn.f16.f32 %h0, %f1;", 'h',
       [](U64 a, U64, U64) { return U64{to_half(static_cast<double>(f32(a)))}; }},
      {"cvt.rn.bf16x2.f32 %r0, %f1, %f2;", 'r',
       [](U64 a, U64 b, U64) {
         return U64{to_bf(static_cast<double>(f32(b)))} | U64{to_bf(static_cast<double>(f32(a)))}
                                                              << 16U;
       }},
      {"cvt.f32.f16 %f0, %h1;", 'f', [](U64 a, U64, U64) { return of(half(a)); }},
      {"mul.f16 %h0, %h1, %h2;", 'h',
       [](U64 a, U64 b, U64) {
         return U64{to_half(static_cast<double>(half(a)) * static_cast<double>(half(b)))};
       }},
      {"fma.rn.f16 %h0, %h1, %h2, %h3;", 'h',
       [](U64 a, U64 b, U64 c) {
         return U64{to_half(std::fma(static_cast<double>(half(a)), static_cast<double>(half(b)),
                                     static_cast<double>(half(c))))};
       }},
  };
  return all;
}

std::vector<std::array<U64, 3>> operands() {
  const std::vector<U64> corners{0,
                                 1,
                                 2,
                                 31,
                                 32,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x3f800000,
                                 0xbf800000,
                                 0x7f800000,
                                 0xff800000,
                                 0x7fc00000,
                                 0x00000001,
                                 0x00800000,
                                 0x007fffff,
                                 0x7f7fffff,
                                 0x33800000,
                                 0x47800000,
                                 0x4f000000,
                                 0xcf000001,
                                 0x3ff0000000000000,
                                 0x7ff0000000000000,
                                 0x8000000000000000,
                                 0x7fffffffffffffff,
                                 0xffffffffffffffff,
                                 0x36a00000,
                                 0x38000000,
                                 0x477fefff,
                                 0x477ff000,
                                 0x33000000};
  std::vector<std::array<U64, 3>> all;
  std::mt19937_64 random(11);
  for (const U64 a : corners)
    for (const U64 b : corners) all.push_back({a, b, corners[random() % corners.size()]});
  for (int i = 0; i < 3000; ++i) all.push_back({random(), random(), random()});
  // Numbers of similar magnitude, so that sums round and cancel.
  for (int i = 0; i < 1000; ++i) {
    const auto number = [&] {
      return (random() & 0x807fffff807fffffU) | 0x3f8000003f000000U | (random() & 0x01000000U);
    };
    all.push_back({number(), number(), number()});
  }
  return all;
}

void expect_isa_results(const std::vector<Row>& rows, bool host_flushes) {
  std::string body = R"(
ld.param.u64 %y10, [in];
ld.param.u64 %y11, [out];
mov.u32 %r10, %ctaid.x;
mul.wide.u32 %y12, %r10, 24;
add.u64 %y10, %y10, %y12;
ld.global.b64 %y1, [%y10];
ld.global.b64 %y2, [%y10+8];
ld.global.b64 %y3, [%y10+16];
mul.wide.u32 %y12, %r10, ROWS;
add.u64 %y11, %y11, %y12;
)";
  for (int i = 1; i <= 3; ++i)
    body += fmt::format(
        "cvt.u32.u64 %r{0}, %y{0};\nmov.b32 %f{0}, %r{0};\ncvt.u16.u64 %h{0}, %y{0};\n"
        "and.b64 %y20, %y{0}, 1;\nsetp.ne.u64 %p{0}, %y20, 0;\n",
        i);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Row& row = rows[at];
    body += fmt::format("{}\n", row.text);
    switch (row.destination) {
      case 'r':
        body += "cvt.u64.u32 %y0, %r0;\n";
        break;
      case 'f':
        body += row.text.find("%f0") == std::string_view::npos
                    ? "cvt.u64.u32 %y0, %r0;\n"
                    : "mov.b32 %r0, %f0;\ncvt.u64.u32 %y0, %r0;\n";
        break;
      case 'h':
        body += "cvt.u64.u16 %y0, %h0;\n";
        break;
      case 'p':
        body += "selp.b64 %y0, 1, 0, %p0;\n";
        break;
      default:
        break;
    }
    body += fmt::format("st.global.b64 [%y11+{}], %y0;\n", 8 * at);
  }
  body.replace(body.find("ROWS"), 4, std::to_string(8 * rows.size()));
  Options options;
  options.contract = false;
  const auto kernel = compiled(module_text(".param .u64 in, .param .u64 out", body), options);
  ASSERT_TRUE(kernel) << kernel.error();
  EXPECT_EQ(kernel->facts.host_flushes, host_flushes);
  for (const Refusal& refusal : kernel->facts.refused)
    ADD_FAILURE() << refusal.line << ": " << refusal.opcode << ": " << refusal.reason;
  const auto in = operands();
  std::vector<U64> out(in.size() * rows.size(), 0xabababababababab);
  const Arguments arguments = Arguments(*kernel).add(in.data()).add(out.data());
  Launch how;
  how.options = compiled_options(emulator::Arch::sm_90);
  how.grid = {static_cast<unsigned>(in.size())};
  how.block = {1};
  how.parameters = arguments.data();
  ASSERT_EQ(launch(*kernel, how), "");
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Row& row = rows[at];
    int wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      U64 got = out[i * rows.size() + at];
      if (row.destination == 'f') got = of(f32(got));  // all NaNs are equal
      if (row.destination == 'd') got = of(f64(got));
      const U64 expected = row.expected(in[i][0], in[i][1], in[i][2]);
      if (got == expected || ++wrong > 3) continue;
      ADD_FAILURE() << row.text
                    << fmt::format(" of {:#x} {:#x} {:#x}: {:#x}, expected {:#x}", in[i][0],
                                   in[i][1], in[i][2], got, expected);
    }
  }
}

TEST(PtxInstructions, MatchPtxIsa) { expect_isa_results(rows(), false); }

TEST(PtxInstructions, MatchPtxIsaWithProcessorFlush) {
  expect_isa_results(flushing_rows(), true);
  // Together with the other rows, which keep denormal numbers, these are flushed in software.
  std::vector<Row> all = rows();
  all.insert(all.end(), flushing_rows().begin(), flushing_rows().end());
  expect_isa_results(all, false);
}

}  // namespace
}  // namespace plumbline::ptx
