// What a translated kernel may ask of the machine that runs it, and what each of its threads knows.
// Included by translated kernels, which a compiler meets at run time, and by kernels/ptx/run.cc:
// the standard library alone.

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace plumbline::ptx {

using Where = std::source_location;  // a line of the PTX

// The matrix instructions of mma.sync.m16n8kK by the formats of A and B and of C and D.
enum class Mma : std::uint8_t {
  f16_k16,
  f16_f16_k16,
  bf16_k16,
  tf32_k8,
  e4m3_k32,
  e5m2_k32,
  f16_k8,
  f16_f16_k8,
  bf16_k8,
  tf32_k4,
  e4m3_k16,
  e5m2_k16,
};

enum class Redux : std::uint8_t { add, min_u32, max_u32, min_s32, max_s32, and_, or_, xor_ };

inline constexpr std::uint64_t no_detail = ~std::uint64_t{0};

// Bytes of memory that a thread may touch: [begin, end).
struct Range {
  std::uint64_t begin = 1, end = 0;
};

struct Thread;

// Calls may suspend the thread while others run. One that the machine cannot do never returns.
struct Machine {
  void (*sync_threads)(Where);
  void (*barrier)(int id, int threads, Where);  // bar.sync id, threads
  void (*barrier_arrive)(int id, int threads, Where);
  void (*sync_warp)(unsigned mask, Where);
  std::uint32_t (*shuffle)(unsigned mask, std::uint32_t value, unsigned from_lane, Where);
  unsigned (*ballot)(unsigned mask, bool predicate, Where);
  unsigned (*match_any)(unsigned mask, std::uint64_t value, Where);
  unsigned (*match_all)(unsigned mask, std::uint64_t value, Where);  // 0: they are not all equal
  std::uint32_t (*redux)(Redux, unsigned mask, std::uint32_t value, Where);
  // 1, 2 or 4 matrices; the address of shared memory as the process sees it
  void (*ldmatrix)(int count, bool transposed, std::uint32_t* r, std::uint64_t row, Where);
  void (*stmatrix)(int count, bool transposed, const std::uint32_t* r, std::uint64_t row, Where);
  void (*mma)(Mma, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where);
  void (*cp_async)(std::uint64_t shared, std::uint64_t global, std::size_t bytes,
                   std::size_t source_bytes, Where);
  void (*cp_async_commit)();
  void (*cp_async_wait)(int groups, Where);
  // Lets the other lanes of the warp come as far as this one, where they run in lockstep.
  void (*converge)();
  // The special function unit (kernels/ptx/special_functions.h), with denormals flushed to zero.
  std::uint32_t (*ex2)(std::uint32_t);
  std::uint32_t (*lg2)(std::uint32_t);
  std::uint32_t (*rcp)(std::uint32_t);
  std::uint32_t (*rsqrt)(std::uint32_t);
  std::uint32_t (*sin)(std::uint32_t);
  std::uint32_t (*cos)(std::uint32_t);
  std::uint32_t (*tanh)(std::uint32_t);
  // The allocation that holds [address, address + bytes) of global memory; without one the launch
  // ends with the address.
  Range (*allocation)(const Thread&, std::uint64_t address, std::size_t bytes, Where);
  // Ends the launch with `what`, and the number behind it unless it is no_detail.
  [[noreturn]] void (*fail)(const char* what, std::uint64_t detail, Where);
};

struct Index {
  std::uint32_t x, y, z;
};

struct Thread {
  const Machine* machine;
  Index tid, ntid, ctaid, nctaid;
  std::uint32_t lane, warp;
  std::uint64_t shared;        // address of the block's shared memory
  std::uint32_t shared_bytes;  // static and dynamic
  bool lockstep;               // see Machine::converge
  bool checked;                // accesses to global memory are held against allocations
  std::uint64_t module;        // address of the module's variables (.global, .const)
  const void* launch;          // the machine's own
};

// What a library of translated PTX exports under the kernel's name.
using Entry = void (*)(const Thread& thread, const std::byte* parameters);

}  // namespace plumbline::ptx
// The arithmetic of PTX on raw bits. Registers are unsigned words; F(), D() and H() read them as
// floating-point numbers and B() gives their bits. Compiled with -ffp-contract=off: each operation
// rounds once, to nearest even, unless its name says otherwise. `Z`: .ftz, denormal operands and
// results become zeros of their sign.
//
// Section numbers are of the PTX ISA 8.5. A result that is not a number has the bits 0x7fffffff,
// as the hardware gives it, where an instruction's result depends on them (min, max, conversions);
// add, mul and fma give whatever NaN the host gives.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace plumbline::ptx {

#define AI [[gnu::always_inline]] inline

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using u128 = unsigned __int128;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using s128 = __int128;
using f16 = _Float16;
using f32 = float;
using f64 = double;

AI f32 F(u32 bits) { return std::bit_cast<f32>(bits); }
AI f64 D(u64 bits) { return std::bit_cast<f64>(bits); }
AI f16 H(u16 bits) { return std::bit_cast<f16>(bits); }
AI f32 BF(u16 bits) { return F(u32{bits} << 16); }
AI u32 B(f32 value) { return std::bit_cast<u32>(value); }
AI u64 B(f64 value) { return std::bit_cast<u64>(value); }
AI u16 B(f16 value) { return std::bit_cast<u16>(value); }

constexpr u32 not_a_number = 0x7fffffffU;
constexpr u16 not_a_half = 0x7fffU;

template <bool Z>
AI f32 flush(f32 x) {
  if constexpr (Z) return __builtin_fabsf(x) < 0x1p-126F ? __builtin_copysignf(0.0F, x) : x;
  return x;
}

template <bool Z>
AI u32 add(f32 a, f32 b) {
  return B(flush<Z>(flush<Z>(a) + flush<Z>(b)));
}
template <bool Z>
AI u32 sub(f32 a, f32 b) {
  return B(flush<Z>(flush<Z>(a) - flush<Z>(b)));
}
template <bool Z>
AI u32 mul(f32 a, f32 b) {
  return B(flush<Z>(flush<Z>(a) * flush<Z>(b)));
}
template <bool Z>
AI u32 fma(f32 a, f32 b, f32 c) {
  return B(flush<Z>(__builtin_fmaf(flush<Z>(a), flush<Z>(b), flush<Z>(c))));
}
template <bool Z>
AI u32 divide(f32 a, f32 b) {
  return B(flush<Z>(flush<Z>(a) / flush<Z>(b)));
}
template <bool Z>
AI u32 root(f32 a) {
  return B(flush<Z>(__builtin_sqrtf(flush<Z>(a))));
}
AI u32 saturate(u32 bits) {
  const f32 x = F(bits);
  return !(x > 0) ? 0 : x > 1 ? 0x3f800000U : bits;
}

// The smaller and the larger of two numbers (9.7.3): of a number and a NaN the number, unless .NaN;
// -0 is below +0.
template <bool Z, bool NaN>
AI u32 smaller(f32 a, f32 b) {
  a = flush<Z>(a);
  b = flush<Z>(b);
  if (a != a || b != b) return NaN || (a != a && b != b) ? not_a_number : B(a != a ? b : a);
  if (a == b) return B(a) | B(b);
  return B(a < b ? a : b);
}
template <bool Z, bool NaN>
AI u32 larger(f32 a, f32 b) {
  a = flush<Z>(a);
  b = flush<Z>(b);
  if (a != a || b != b) return NaN || (a != a && b != b) ? not_a_number : B(a != a ? b : a);
  if (a == b) return B(a) & B(b);
  return B(a > b ? a : b);
}

// Sum of two doubles rounded to odd, so that rounding it once more to 24 bits or fewer is right.
AI f64 sum_to_odd(f64 a, f64 b) {
  const f64 sum = a + b;
  const f64 of_b = sum - a;
  const f64 error = (a - (sum - of_b)) + (b - of_b);
  const u64 bits = B(sum);
  if (error == 0 || !(error == error) || (bits & 1) != 0) return sum;
  return D((error > 0) == (sum > 0) ? bits | 1 : bits - 1);
}

// 16-bit numbers, one rounding each: fp16 and bf16 as f64, which holds each product exactly.
AI f64 half(u16 bits) { return static_cast<f64>(H(bits)); }
AI u16 to_half(f64 x) { return x != x ? not_a_half : B(static_cast<f16>(x)); }
AI f64 brain(u16 bits) { return static_cast<f64>(BF(bits)); }
AI u16 round_to_bf16(u32 bits) {
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
// x has been rounded to odd, or is exact: the step through f32 keeps the sticky bit by truncating.
AI u16 to_brain(f64 x) {
  if (x != x) return not_a_half;
  f32 cut = static_cast<f32>(x);
  if (static_cast<f64>(cut) != x) {
    u32 bits = B(cut);
    if (__builtin_fabs(static_cast<f64>(cut)) > __builtin_fabs(x)) --bits;
    cut = F(bits | 1);
  }
  return round_to_bf16(B(cut));
}

AI u16 to_bf16(f32 x) { return x != x ? not_a_half : round_to_bf16(B(x)); }
AI u16 to_bf16_chopped(f32 x) { return x != x ? not_a_half : static_cast<u16>(B(x) >> 16); }
AI u16 to_f16(f32 x) { return x != x ? not_a_half : B(static_cast<f16>(x)); }
AI u16 to_f16_chopped(f32 x) {
  if (x != x) return not_a_half;
  const u16 bits = B(static_cast<f16>(x));
  const f32 back = static_cast<f32>(H(bits));
  return __builtin_fabsf(back) > __builtin_fabsf(x) ? static_cast<u16>(bits - 1) : bits;
}
// Round to nearest, ties away from zero, 10 fraction bits (cvt.rna.tf32).
AI u32 to_tf32(f32 x) { return x != x ? not_a_number : (B(x) + 0x1000U) & 0xffffe000U; }
AI u32 to_tf32_even(f32 x) {
  return x != x ? not_a_number : (B(x) + 0xfffU + (B(x) >> 13 & 1)) & 0xffffe000U;
}

// fp8 (5.2.3): e4m3 has no infinity, and NaN is 0x7f; .satfinite clamps to the largest number.
template <int Mantissa>
AI u8 to_f8(f32 x) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  constexpr u32 largest = Mantissa == 3 ? 0x7e : 0x7b;
  const u8 sign = static_cast<u8>(B(x) >> 24 & 0x80);
  if (x != x) return 0x7f;
  const f32 magnitude = __builtin_fabsf(x);
  const int exponent = static_cast<int>(B(magnitude) >> 23) - 127;
  const int lowest = 1 - bias;
  const int step = (exponent < lowest ? lowest : exponent) - Mantissa;  // of the result's last bit
  if (exponent > 8 + (Mantissa == 3 ? 0 : 7)) return sign | largest;
  const auto units = static_cast<u32>(__builtin_rintf(__builtin_ldexpf(magnitude, -step)));
  const u32 code =
      units + (exponent < lowest ? 0 : static_cast<u32>(exponent - lowest) << Mantissa);
  return sign | static_cast<u8>(code > largest ? largest : code);
}
template <int Mantissa>
AI f32 from_f8(u8 bits) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  const int exponent = bits >> Mantissa & (Mantissa == 3 ? 15 : 31),
            fraction = bits & ((1 << Mantissa) - 1);
  f32 x = exponent == 0 ? __builtin_ldexpf(static_cast<f32>(fraction), 1 - bias - Mantissa)
                        : __builtin_ldexpf(static_cast<f32>(fraction + (1 << Mantissa)),
                                           exponent - bias - Mantissa);
  if (Mantissa == 3 && (bits & 0x7f) == 0x7f) x = F(not_a_number);
  if (Mantissa == 2 && exponent == 31) x = fraction == 0 ? __builtin_inff() : F(not_a_number);
  return (bits & 0x80) != 0 ? -x : x;
}

// To integers (9.7.9.21): NaN becomes 0 (the most negative of 64 bits: none here), values out of
// range the nearest end. `whole` is rounded.
template <class T>
AI T to_integer(f64 whole) {
  if (whole != whole) return 0;
  constexpr f64 lowest = static_cast<f64>(std::numeric_limits<T>::min());
  constexpr f64 above = 0x1p1 * static_cast<f64>(std::numeric_limits<T>::max() / 2 + 1);
  if (whole <= lowest) return std::numeric_limits<T>::min();
  if (whole >= above) return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}
template <class T, class From>
AI T clamp_integer(From value) {
  using Wide = s128;
  const Wide wide = value;
  const Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(wide < low ? low : wide > high ? high : wide);
}

// Bits (9.7.1, 9.7.8).
template <class T>
AI T shift_left(T a, u32 n) {
  return n >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << n);
}
template <class T>
AI T shift_right(T a, u32 n) {
  constexpr u32 width = sizeof(T) * 8;
  if (n >= width) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> n);
}
// Bits pos .. pos + len - 1 of a; signed types repeat the top one, and beyond the word the sign.
template <class T>
AI T extract(T a, u32 pos, u32 len) {
  constexpr u32 width = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  pos &= 255;
  len &= 255;
  const U word = static_cast<U>(a);
  const U sign =
      std::is_signed_v<T> && len != 0
          ? static_cast<U>(word >> (pos + len - 1 < width ? pos + len - 1 : width - 1)) & 1
          : U{0};
  U result = 0;
  for (u32 i = 0; i < width; ++i)
    result |= (i < len && pos + i < width ? word >> (pos + i) & 1 : sign) << i;
  return static_cast<T>(result);
}
template <class T>
AI T insert(T a, T b, u32 pos, u32 len) {
  constexpr u32 width = sizeof(T) * 8;
  pos &= 255;
  len &= 255;
  if (len == 0 || pos >= width) return b;
  const T mask = len >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
  return static_cast<T>((b & ~(mask << pos)) | ((a & mask) << pos));
}
// Any function of three bits: bit 4 a + 2 b + c of the table.
AI u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i)
    if ((table >> i & 1) != 0)
      result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  return result;
}
// Byte i of the result: byte `nibble i` of b:a; the top bit of the nibble asks for its sign.
AI u32 permute(u32 a, u32 b, u32 selector) {
  const u64 both = u64{b} << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    u32 byte = static_cast<u32>(both >> 8 * (nibble & 7)) & 255;
    if ((nibble & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
AI u32 reverse_bits(u32 x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(x);
}
// The place of the highest 1, of signed numbers of the highest bit unlike the sign; -1: none.
template <class T>
AI u32 highest(T a) {
  using U = std::make_unsigned_t<T>;
  const U word =
      std::is_signed_v<T> && a < 0 ? static_cast<U>(~static_cast<U>(a)) : static_cast<U>(a);
  return word == 0 ? ~0U
                   : static_cast<u32>(sizeof(T) * 8 - 1) - static_cast<u32>(std::countl_zero(word));
}

}  // namespace plumbline::ptx
// What a thread of a translated kernel does with memory, its warp and the special function unit.
// `t` is the thread; `where` the line of the PTX that asks.

#include <atomic>

namespace plumbline::ptx {

// --- memory

template <class T>
AI T load(u64 address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
template <class T>
AI void store(u64 address, T value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

// Where a warp runs in lockstep, its lanes reach each shared access together. It is enough that
// they wait for each other between what one lane stores and another loads: `last` is what this lane
// did last.
enum class Access : u8 { none, load, store };
AI void touch(const Thread& t, Access& last, Access now) {
  if (last == now) return;
  if (last != Access::none && t.lockstep) t.machine->converge();
  last = now;
}

// The process's address of N bytes of shared memory.
template <unsigned N>
AI u64 shared(const Thread& t, u64 offset, Where where = Where::current()) {
  const u32 at = static_cast<u32>(offset);
  if (__builtin_expect(t.shared_bytes < N || at > t.shared_bytes - N, 0))
    t.machine->fail("shared memory: out of bounds at byte", at, where);
  if (__builtin_expect(at % N != 0, 0))
    t.machine->fail("shared memory: misaligned at byte", at, where);
  return t.shared + at;
}
// The same of N bytes of global memory. `site` remembers the allocation that this instruction met.
template <unsigned N>
AI u64 global(const Thread& t, Range& site, u64 address, Where where = Where::current()) {
  if (__builtin_expect(address % N != 0, 0))
    t.machine->fail("global memory: misaligned at address", address, where);
  if (t.checked && __builtin_expect(address < site.begin || address + N > site.end, 0))
    site = t.machine->allocation(t, address, N, where);
  return address;
}
// Of an address without a space: shared memory, this thread's local memory, or global memory.
template <unsigned N>
AI u64 generic(const Thread& t, Range& site, u64 address, const std::byte* local,
               std::size_t local_bytes, Access& last, Access now, Where where = Where::current()) {
  if (address - t.shared < t.shared_bytes) {
    touch(t, last, now);
    return shared<N>(t, address - t.shared, where);
  }
  if (address - reinterpret_cast<u64>(local) < local_bytes) return address;
  return global<N>(t, site, address, where);
}

template <class T, class Change>
AI T atomically(u64 address, Change change) {
  std::atomic_ref<T> target(*reinterpret_cast<T*>(address));
  T before = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(before, change(before), std::memory_order_acq_rel)) {
  }
  return before;
}

// --- the warp

// shfl.sync (9.7.8.6): c holds the last lane of a segment, and above it the mask that segments
// share. `inside`: whether the source lane lies in the segment; the lane's own value is the result
// where it does not.
AI u32 shuffle(const Thread& t, char mode, u32 value, u32 b, u32 c, u32 mask, bool& inside,
               Where where = Where::current()) {
  const u32 last = c & 31, segments = c >> 8 & 31, lane = t.lane;
  const u32 highest_lane = (lane & segments) | (last & ~segments), lowest_lane = lane & segments;
  u32 from = 0;
  b &= 31;
  switch (mode) {
    case 'u':
      from = lane - b;
      inside = static_cast<s32>(from) >= static_cast<s32>(highest_lane);
      break;
    case 'd':
      from = lane + b;
      inside = from <= highest_lane;
      break;
    case 'b':
      from = lane ^ b;
      inside = from <= highest_lane;
      break;
    default:
      from = lowest_lane | (b & ~segments);
      inside = from <= highest_lane;
      break;
  }
  return t.machine->shuffle(mask, value, inside ? from : lane, where);
}

// --- the special function unit, with the sequences that ptxas 13.0 puts around it (read from its
// SASS, the same for sm_80, sm_90 and sm_120). `Z`: .ftz.

template <bool Z>
AI u32 ex2(const Thread& t, f32 x) {
  if (Z || !(x < -126.0F)) return t.machine->ex2(B(x));
  const f32 root = F(t.machine->ex2(B(x * 0.5F)));  // its square may be denormal
  return B(root * root);
}
template <bool Z>
AI u32 lg2(const Thread& t, f32 x) {
  const bool denormal = !Z && __builtin_fabsf(x) < 0x1p-126F;
  const f32 result = F(t.machine->lg2(B(denormal ? x * 0x1p24F : x)));
  return B(denormal ? result - 24.0F : result);
}
template <bool Z>
AI u32 rcp(const Thread& t, f32 x) {
  const f32 magnitude = __builtin_fabsf(x);
  if (!Z && magnitude < 0x1p-126F && magnitude > 0)
    return B(F(t.machine->rcp(B(x * 0x1p24F))) * 0x1p24F);
  if (!Z && magnitude > 0x1p126F && magnitude < __builtin_inff())
    return B(F(t.machine->rcp(B(x * 0.25F))) * 0.25F);
  return t.machine->rcp(B(x));
}
template <bool Z>
AI u32 rsqrt(const Thread& t, f32 x) {
  const bool denormal = !Z && __builtin_fabsf(x) < 0x1p-126F;
  const f32 result = F(t.machine->rsqrt(B(denormal ? x * 0x1p24F : x)));
  return B(denormal ? result * 0x1p12F : result);
}
// sqrt.approx: 1 / (1 / sqrt(x)).
template <bool Z>
AI u32 sqrt_approx(const Thread& t, f32 x) {
  return rcp<Z>(t, F(rsqrt<Z>(t, x)));
}
// a / b as a times the reciprocal of b.
template <bool Z>
AI u32 divide_approx(const Thread& t, f32 a, f32 b) {
  return mul<Z>(a, F(rcp<Z>(t, b)));
}
// div.full: both operands are scaled alike where the reciprocal of b would be denormal.
template <bool Z>
AI u32 divide_full(const Thread& t, f32 a, f32 b) {
  const f32 magnitude = __builtin_fabsf(b);
  if (magnitude > 0x1p126F) {
    a *= 0.25F;
    b *= 0.25F;
  } else if (!Z && magnitude < 0x1p-126F) {
    a *= 0x1p24F;
    b *= 0x1p24F;
  }
  return B(flush<Z>(F(t.machine->rcp(B(b))) * a));
}

}  // namespace plumbline::ptx

namespace plumbline::ptx {
#line 1 "k.ptx"
extern "C" void entry_k(const Thread& t, const std::byte* parameters) {
  [[maybe_unused]] constexpr u64 dynamic_shared = 0;
  [[maybe_unused]] const u64 P = reinterpret_cast<u64>(parameters);
  [[maybe_unused]] Access last = Access::none;
  [[maybe_unused]] bool carry = false;
  [[maybe_unused]] constexpr std::size_t local_bytes = 0;
  alignas(128) [[maybe_unused]] std::byte local[1];
  [[maybe_unused]] Range sites[1];
  u32 v_r1 = 0;
#line 12
  v_r1 = u32(u32(0x1ULL));
#line 13
  return;
}
}  // namespace plumbline::ptx
