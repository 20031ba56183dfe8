// The numbers that our kernels read, write and compute with. The bits are the same on GPU and CPU:
// only IEEE operations, explicit fmaf and our own 2^x, compiled without contraction, flushing or
// fast division.
#pragma once

#include <math.h>

#include <cstdint>
#include <type_traits>

#include "harness/provider/plumbline_provider.h"
#include "kernels/attention/simt.h"
#include "kernels/cpu/exp2_polynomial.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include <immintrin.h>
#endif

namespace plumbline::attention {

// Storage of 16-bit elements. The functions below convert them on both machines. NaN becomes
// 0x7fff, as on a GPU.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
// An element of K or V in e4m3 or e5m2 (Parameters::dtype_kv), without the scale.
struct Fp8 {
  std::uint8_t bits;
};
// fp32 in memory; rounded to tf32 for tensor cores.
using Float = float;

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(BFloat16 x) {
  return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16U);
}
__device__ __forceinline__ float to_float(Half x) {
#ifdef __CUDACC__
  return __half2float(__ushort_as_half(x.bits));
#else
  return _cvtsh_ss(x.bits);
#endif
}

// Exact. e5m2 is the upper half of fp16. e4m3's exponent and mantissa, moved to fp32's fields, give
// the value times 2^-120, also for subnormal numbers.
__device__ __forceinline__ float to_float(Fp8 x, std::uint32_t dtype) {
  if (dtype == PLUMBLINE_E5M2) return to_float(Half{static_cast<std::uint16_t>(x.bits << 8U)});
  const std::uint32_t size = x.bits & 0x7fU;
  const float value = __uint_as_float(size << 20U) * 0x1p120F;
  return size == 0x7fU ? __uint_as_float(0x7fffffffU) : x.bits > 0x7fU ? -value : value;
}
// Converts an element of K or V.
template <class Element>
__device__ __forceinline__ float to_float(Element x, std::uint32_t) {
  return to_float(x);
}

// Rounds to nearest even.
template <class Element>
__device__ Element from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ Half from_float<Half>(float x) {
#ifdef __CUDACC__
  return {__half_as_ushort(__float2half_rn(x))};
#else
  return {x == x ? static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT))
                 : std::uint16_t{0x7fff}};
#endif
}
template <>
__device__ __forceinline__ BFloat16 from_float<BFloat16>(float x) {
#ifdef __CUDACC__
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#else
  const std::uint32_t bits = __float_as_uint(x);
  return {x == x ? static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U)
                 : std::uint16_t{0x7fff}};
#endif
}

// Packs two elements into one register, the first in the low half.
template <class Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  return from_float<Element>(low).bits | static_cast<std::uint32_t>(from_float<Element>(high).bits)
                                             << 16U;
}

// Rounds fp32 to tf32 (nearest even); tensor cores would chop the low 13 bits. Infinity and NaN do
// not change.
__device__ __forceinline__ std::uint32_t to_tf32(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7f800000U) == 0x7f800000U) return bits;
  return (bits + 0xfffU + (bits >> 13U & 1U)) & ~0x1fffU;
}

// Rounds P before P V, for kernels whose instructions do not round it.
__device__ __forceinline__ float round_to(std::uint32_t dtype, float x) {
  if (dtype == PLUMBLINE_F16) return to_float(from_float<Half>(x));
  if (dtype == PLUMBLINE_BF16) return to_float(from_float<BFloat16>(x));
  return x;
}

// 2^x for x <= 0, within 2 ulp; exactly 0 below -126.
__device__ __forceinline__ float exp2_of(float x) {
  const float whole = rintf(fmaxf(x, -126.0F));
  const float f = fmaxf(x, -126.0F) - whole;
  using namespace exp2_polynomial;
  float power = fmaf(c6, f, c5);
  power = fmaf(power, f, c4);
  power = fmaf(power, f, c3);
  power = fmaf(power, f, c2);
  power = fmaf(power, f, c1);
  power = fmaf(power, f, 1.0F);
  const float scale =
      __uint_as_float(static_cast<std::uint32_t>(static_cast<int>(whole) + 127) << 23U);
  if (x < -126.0F) return 0.0F;
  return x == x ? power * scale : x;
}

// A tiling of a kernel with K and V in fp8. The kernels' own tilings have KvElement = Element.
template <class Tiling>
struct WithFp8 : Tiling {
  using KvElement = Fp8;
};
// True if K and V are widened to the dtype of Q on their way to shared memory.
template <class Tiling>
inline constexpr bool widens =
    !std::is_same_v<typename Tiling::KvElement, typename Tiling::Element>;

// Returns the maximum for use in exponents. A row without a visible key so far has m = -infinity;
// with 0 instead, -infinity - 0 still gives P = 0.
__device__ __forceinline__ float finite_or_zero(float m) { return m == -INFINITY ? 0.0F : m; }

}  // namespace plumbline::attention
