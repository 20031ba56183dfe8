// The operations of a translated kernel's thread on memory, its warp and the special function unit.
// `t` is the thread, `where` the line of the PTX.
#pragma once

#include <atomic>
#include <utility>

#include "emulator/machine/switch.h"
#include "emulator/ptx/translated/machine.h"
#include "emulator/ptx/translated/numbers.h"

namespace plumbline::ptx {

using emulator::Product;

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

// Switches to `stack` unless it is nullptr. Even the switch is inlined: see
// emulator/machine/collectives.h.
AI void continue_with(const Thread& t, void* stack) {
#ifdef __x86_64__  // elsewhere the machine switches
  if (stack != nullptr) emulator::switch_stacks(t.stack_pointer, stack);
#endif
}

// In lockstep, the lanes of a warp reach each access to shared memory together. To the same effect,
// a lane waits for the others when its accesses change from loads to stores or back. `last` is this
// lane's last access.
enum class Access : u8 { none, load, store };
AI void touch(const Thread& t, Access& last, Access now) {
  if (last == now) return;
  if (last != Access::none && t.lockstep) continue_with(t, t.machine->converge());
  last = now;
}

// Returns the process's address of N bytes of shared memory.
template <unsigned N>
AI u64 shared(const Thread& t, u64 offset, Where where = Where::current()) {
  const u32 at = static_cast<u32>(offset);
  if (__builtin_expect(t.shared_bytes < N || at > t.shared_bytes - N, 0))
    t.machine->fail("shared memory: out of bounds at byte", at, where);
  if (__builtin_expect(at % N != 0, 0))
    t.machine->fail("shared memory: misaligned at byte", at, where);
  return t.shared + at;
}
// Returns the process's address of N bytes of the thread's local memory.
template <unsigned N>
AI u64 in_local(const Thread& t, u64 offset, const std::byte* local, std::size_t local_bytes,
                Where where = Where::current()) {
  const u32 at = static_cast<u32>(offset);
  if (__builtin_expect(local_bytes < N || at > local_bytes - N, 0))
    t.machine->fail("local memory: out of bounds at byte", at, where);
  return reinterpret_cast<u64>(local) + at;
}
// Returns the process's address of N bytes of global memory, without the tag. `site` caches the
// allocation that this instruction used last.
template <unsigned N>
AI u64 global(const Thread& t, Range& site, u64 address, Where where = Where::current()) {
  if (__builtin_expect(address % N != 0, 0))
    t.machine->fail("global memory: misaligned at address", address & address_bits, where);
  if (t.checked && __builtin_expect(address < site.begin || address + N > site.end, 0))
    site = t.machine->allocation(t, address, N, where);
  return address & address_bits;
}
// Resolves a generic address: shared memory, this thread's local memory, or global memory.
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

// --- barriers, and what the lanes of a warp do together

AI void sync_threads(const Thread& t, Where where = Where::current()) {
  continue_with(t, t.machine->sync_threads(where));
}
AI void barrier(const Thread& t, Call call, int id, int threads, Where where = Where::current()) {
  continue_with(t, t.machine->barrier(call, id, threads, where));
}
AI void sync_warp(const Thread& t, u32 mask, Where where = Where::current()) {
  continue_with(t, t.machine->sync_warp(mask, where));
}

// Waits for the exchange's results. The caller has put this lane's operands into the exchange.
AI void together(const Thread& t, Call call, u32 mask, Where where) {
  continue_with(t, t.machine->arrive(call, mask, where));
}
AI u64 bring(const Thread& t, Call call, u32 mask, u64 value, Where where) {
  t.exchange->in[t.lane] = value;
  together(t, call, mask, where);
  return t.exchange->out[t.lane];
}
AI u32 ballot(const Thread& t, u32 mask, bool predicate, Where where = Where::current()) {
  return static_cast<u32>(bring(t, Call::ballot, mask, predicate ? 1 : 0, where));
}
AI u32 match_any(const Thread& t, u32 mask, u64 value, Where where = Where::current()) {
  t.exchange->combined = t.machine->same_value;
  return static_cast<u32>(bring(t, Call::match, mask, value, where));
}
// Returns 0 if the values are not all equal.
AI u32 match_all(const Thread& t, u32 mask, u64 value, Where where = Where::current()) {
  return match_any(t, mask, value, where) == mask ? mask : 0;
}
AI u32 redux(const Thread& t, Redux operation, u32 mask, u32 value,
             Where where = Where::current()) {
  t.exchange->combined = t.machine->redux[static_cast<int>(operation)];
  return static_cast<u32>(bring(t, Call::redux, mask, value, where));
}

// shfl.sync (9.7.9.6). `c` holds the clamp lane (bits 0 to 4) and the segment mask (bits 8 to
// 12). `inside` becomes true if the source lane is in the segment; otherwise the result is the
// lane's own value.
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
  if (!inside) from = lane;
  if (__builtin_expect((mask >> from & 1) == 0, 0)) t.machine->unmasked(mask, from, where);
  t.exchange->from[lane] = static_cast<u8>(from);
  return static_cast<u32>(bring(t, Call::shfl, mask, value, where));
}

// Word by word: a copy in one piece would force the words out of registers.
template <std::size_t... i>
AI void copy(u32* to, const u32* from, std::index_sequence<i...>) {
  ((to[i] = from[i]), ...);
}
template <u32 n>
AI void copy(u32* to, const u32* from) {
  copy(to, from, std::make_index_sequence<n>());
}

AI void check_row(const Thread& t, Call call, u64 row, Where where) {
  const u64 at = row - t.shared;
  if (__builtin_expect(at > t.shared_bytes - 16 || t.shared_bytes < 16 || at % 16 != 0, 0))
    t.machine->check_row(call, row, where);
}
// Loads n matrices; `row` is an address of the process.
template <u32 n>
AI void ldmatrix(const Thread& t, Call call, u32 (&r)[n], u64 row, Where where = Where::current()) {
  check_row(t, call, row, where);
  t.exchange->in[t.lane] = row;
  together(t, call, emulator::full_mask, where);
  copy<n>(r, &t.exchange->d[4 * t.lane]);
}
template <u32 n>
AI void stmatrix(const Thread& t, Call call, const u32 (&r)[n], u64 row,
                 Where where = Where::current()) {
  check_row(t, call, row, where);
  t.exchange->in[t.lane] = row;
  copy<n>(&t.exchange->a[4 * t.lane], r);
  together(t, call, emulator::full_mask, where);
}
// Multiplies the matrices whose words this lane has put into the exchange.
template <u32 n>
AI void multiply(const Thread& t, Call call, const Product (&products)[n],
                 Where where = Where::current()) {
  t.exchange->products = products;
  t.exchange->product_count = n;
  together(t, call, emulator::full_mask, where);
}

// --- the special function unit, with the instructions that ptxas 13.0 adds before and after its
// use (read from SASS, the same for sm_80, sm_90 and sm_120). `Z`: .ftz.

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
template <bool Z>
AI u32 sqrt_approx(const Thread& t, f32 x) {
  const bool denormal = !Z && __builtin_fabsf(x) < 0x1p-126F;
  const f32 result = F(t.machine->sqrt(B(denormal ? x * 0x1p24F : x)));
  return B(denormal ? result * 0x1p-12F : result);
}
// Computes a / b as a times the reciprocal of b; both are scaled if b is denormal. A reciprocal
// that would be denormal is zero.
template <bool Z>
AI u32 divide_approx(const Thread& t, f32 a, f32 b) {
  if (!Z && __builtin_fabsf(b) < 0x1p-126F) {
    a *= 0x1p24F;
    b *= 0x1p24F;
  }
  return mul<Z>(F(t.machine->rcp(B(b))), a);
}
// div.full also scales both operands if the reciprocal of b would be denormal.
template <bool Z>
AI u32 divide_full(const Thread& t, f32 a, f32 b) {
  if (__builtin_fabsf(b) > 0x1p126F) {
    a = F(mul<Z>(a, 0.25F));
    b = F(mul<Z>(b, 0.25F));
  }
  return divide_approx<Z>(t, a, b);
}

}  // namespace plumbline::ptx
