// simt.h for the emulator: CUDA's names for g++. kernels/attention/simt.h lists them.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/machine/collectives.h"
#include "emulator/machine/thread.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

#define threadIdx (::plumbline::emulator::current->index)
#define blockIdx (::plumbline::emulator::current->block->index)
#define blockDim (::plumbline::emulator::current->block->dimensions)
#define gridDim (::plumbline::emulator::current->block->grid)

namespace plumbline::emulator {

// Shuffles the bits of a value of 4 or 8 bytes.
template <class T>
__forceinline__ T shuffle_bits(Call call, unsigned mask, T value, int operand, int width,
                               Where where) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(
      inlined::shuffle(call, mask, std::bit_cast<Bits>(value), operand, width, where)));
}

}  // namespace plumbline::emulator

// CUDA's global names.
namespace plumbline::emulator::cuda {

inline void __syncthreads(Where where = Where::current()) { sync_threads(where); }
inline void __syncwarp(unsigned mask = 0xffffffffU, Where where = Where::current()) {
  sync_warp(mask, where);
}

template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
                              Where where = Where::current()) {
  return shuffle_bits(Call::shfl, mask, value, lane, width, where);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                                 Where where = Where::current()) {
  return shuffle_bits(Call::shfl_up, mask, value, static_cast<int>(distance), width, where);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                                   Where where = Where::current()) {
  return shuffle_bits(Call::shfl_down, mask, value, static_cast<int>(distance), width, where);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                                  Where where = Where::current()) {
  return shuffle_bits(Call::shfl_xor, mask, value, lane_mask, width, where);
}

__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate,
                                       Where where = Where::current()) {
  return exchanged::ballot(Call::ballot, mask, predicate != 0, where);
}
__forceinline__ int __any_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return exchanged::ballot(Call::any, mask, predicate != 0, where) != 0;
}
__forceinline__ int __all_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return exchanged::ballot(Call::all, mask, predicate != 0, where) == mask;
}

// Blocks run in parallel, so these are real atomics. They return the previous value.
template <class T>
requires std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, float> ||
    std::is_same_v<T, double>
        T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
requires std::is_same_v<T, int> || std::is_same_v<T, unsigned> T
atomicMax(T* address, std::type_identity_t<T> value) {
  std::atomic_ref<T> target(*address);
  T before = target.load(std::memory_order_relaxed);
  while (before < value &&
         !target.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
  return before;
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

}  // namespace plumbline::emulator::cuda

using namespace plumbline::emulator::cuda;

namespace plumbline::simt {

using emulator::Where;

inline std::byte* dynamic_shared() { return emulator::current->block->shared; }

inline void named_barrier_sync(int id, int threads, Where where = Where::current()) {
  emulator::named_barrier(emulator::Call::named_barrier_sync, id, threads, where);
}
inline void named_barrier_arrive(int id, int threads, Where where = Where::current()) {
  emulator::named_barrier(emulator::Call::named_barrier_arrive, id, threads, where);
}

inline void cp_async_16(void* shared, const void* global, bool valid,
                        Where where = Where::current()) {
  emulator::cp_async_16(shared, global, valid, where);
}
inline void cp_async_commit() { emulator::cp_async_commit(); }
template <int Groups>
void cp_async_wait(Where where = Where::current()) {
  static_assert(Groups >= 0);
  emulator::cp_async_wait(Groups, where);
}

__forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row,
                                 Where where = Where::current()) {
  emulator::inlined::ldmatrix(emulator::Call::ldmatrix_x4, r, row, where);
}
__forceinline__ void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row,
                                       Where where = Where::current()) {
  emulator::inlined::ldmatrix(emulator::Call::ldmatrix_x4_trans, r, row, where);
}

template <emulator::Call call>
__forceinline__ void mma_to_fp32(float (&d)[4], const std::uint32_t (&a)[4],
                                 const std::uint32_t (&b)[2], Where where) {
  std::uint32_t registers[4];
  std::memcpy(registers, d, sizeof d);
  emulator::inlined::mma<call>(a, b, registers, where);
  std::memcpy(d, registers, sizeof d);
}
__forceinline__ void mma_f16(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2], Where where = Where::current()) {
  mma_to_fp32<emulator::Call::mma_f16>(d, a, b, where);
}
__forceinline__ void mma_f16(std::uint32_t (&d)[2], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2], Where where = Where::current()) {
  emulator::inlined::mma<emulator::Call::mma_f16_f16>(a, b, d, where);
}
__forceinline__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], Where where = Where::current()) {
  mma_to_fp32<emulator::Call::mma_bf16>(d, a, b, where);
}
__forceinline__ void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], Where where = Where::current()) {
  mma_to_fp32<emulator::Call::mma_tf32>(d, a, b, where);
}
__forceinline__ void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], Where where = Where::current()) {
  mma_to_fp32<emulator::Call::mma_e4m3>(d, a, b, where);
}
__forceinline__ void mma_e5m2(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], Where where = Where::current()) {
  mma_to_fp32<emulator::Call::mma_e5m2>(d, a, b, where);
}

}  // namespace plumbline::simt
