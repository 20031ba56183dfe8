// The collectives as our own kernels call them, inlined down to the switch between threads.
//
// Each lane puts its part into the exchange of its warp and arrives; the last one to arrive does
// the work for all. No called function returns after a switch: the processor would mispredict the
// return, because it pairs each return with the latest call. Operands also stay in registers until
// they are put into the exchange. Together this makes prefill_mma take 0.35 of its former processor
// time (docs/decisions/emulator.md).
//
// Calls that a fault may change, and calls that CUDA does not define, go to the functions of
// thread.h. Translated kernels (emulator/ptx) inline their own collectives, which use arrive().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulator/machine/thread.h"
#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {

// Records that the running lane has brought its part. Returns the thread to run until all lanes of
// the mask have arrived; nullptr: the running thread continues.
ThreadContext* arrive(Call call, unsigned mask, Where where);

// The waiting functions of thread.h without the switch. They return the same as arrive().
ThreadContext* arrive_at_syncthreads(Where where);
ThreadContext* arrive_at_syncwarp(unsigned mask, Where where);
ThreadContext* arrive_at_named_barrier(Call call, int id, int threads, Where where);
ThreadContext* arrive_to_converge();

// Ends the block if the running lane names a row of ldmatrix or stmatrix outside of shared memory.
void check_row(Call call, const void* row, Where where);

// Suspends the running thread and resumes `next`; does nothing if `next` is nullptr.
[[gnu::always_inline]] inline void continue_with(ThreadContext* next) {
  if (next == nullptr) return;
  ThreadContext& self = *current;
  current = next;
  self.fiber.switch_to(next->fiber, self.block->switching);
}

// Suspends the running thread for `next`, and returns nullptr. Used if a fiber is more than its
// stack pointer. Not inlined, because a function that contains a switch saves all registers.
void* suspend_for(ThreadContext& next);

// Like continue_with(), for code that contains switch_stacks() but knows no fibers. Returns the
// stack to resume; `next` then counts as running. nullptr: continue (or the switch has already
// happened and this thread was resumed).
[[gnu::always_inline]] inline void* stack_to_resume(ThreadContext* next) {
  if (next == nullptr) return nullptr;
  if (!Fiber::is_stack_pointer(next->block->switching)) return suspend_for(*next);
  current = next;
  return *next->fiber.stack_pointer();
}
void* arrive_to_stack(Call call, unsigned mask, Where where);

// Returns after all lanes of the mask have brought their parts and the results are there.
[[gnu::always_inline]] inline void together(Call call, unsigned mask, Where where) {
  continue_with(arrive(call, mask, where));
}

// Returns the lane that `lane` reads from, as the PTX ISA defines it for shfl.sync; `lane` itself
// if the source is outside of its segment.
constexpr unsigned source_lane(Call call, unsigned lane, unsigned operand, unsigned width) {
  const unsigned segment = lane & ~(width - 1);
  const unsigned last = segment | (width - 1);
  unsigned from = lane;
  bool within = false;
  switch (call) {
    case Call::shfl:
      return segment | (operand & (width - 1));
    case Call::shfl_up:
      within = lane >= segment + operand;
      from = lane - operand;
      break;
    case Call::shfl_down:
      within = lane + operand <= last;
      from = lane + operand;
      break;
    default:  // xor
      from = lane ^ operand;
      within = from <= last;
      break;
  }
  return within ? from : lane;
}

// In the order of Call, starting at mma_f16.
inline constexpr MmaInstruction mma_instructions[] = {
    {MmaFormat::f16, MmaAccumulator::f32, 16},  {MmaFormat::f16, MmaAccumulator::f16, 16},
    {MmaFormat::bf16, MmaAccumulator::f32, 16}, {MmaFormat::tf32, MmaAccumulator::f32, 8},
    {MmaFormat::e4m3, MmaAccumulator::f32, 32}, {MmaFormat::e5m2, MmaAccumulator::f32, 32},
    {MmaFormat::f16, MmaAccumulator::f32, 8},   {MmaFormat::f16, MmaAccumulator::f16, 8},
    {MmaFormat::bf16, MmaAccumulator::f32, 8},  {MmaFormat::tf32, MmaAccumulator::f32, 4},
    {MmaFormat::e4m3, MmaAccumulator::f32, 16}, {MmaFormat::e5m2, MmaAccumulator::f32, 16}};

constexpr MmaInstruction instruction(Call call) {
  return mma_instructions[static_cast<std::size_t>(call) - static_cast<std::size_t>(Call::mma_f16)];
}

// The functions of thread.h after their checks, for launches without a fault.
namespace exchanged {

[[gnu::always_inline]] inline std::uint64_t shuffle(Call call, unsigned mask, std::uint64_t value,
                                                    unsigned from, Where where) {
  const ThreadContext& lane = *current;
  lane.exchange->in[lane.lane] = value;
  lane.exchange->from[lane.lane] = static_cast<std::uint8_t>(from);
  together(call, mask, where);
  const ThreadContext& again = *current;  // same as `lane`; cheaper than keeping it
  return again.exchange->out[again.lane];
}

[[gnu::always_inline]] inline unsigned ballot(Call call, unsigned mask, bool predicate,
                                              Where where) {
  const ThreadContext& lane = *current;
  lane.exchange->in[lane.lane] = predicate ? 1U : 0U;
  together(call, mask, where);
  const ThreadContext& again = *current;
  return static_cast<unsigned>(again.exchange->out[again.lane]);
}

[[gnu::always_inline]] inline void ldmatrix(Call call, std::uint32_t* r, unsigned count,
                                            const void* row, Where where) {
  const ThreadContext& lane = *current;
  lane.exchange->in[lane.lane] = reinterpret_cast<std::uintptr_t>(row);
  together(call, full_mask, where);
  const ThreadContext& again = *current;
  std::memcpy(r, &again.exchange->d[std::size_t{4} * again.lane], count * sizeof *r);
}

template <int words>
[[gnu::always_inline]] inline void copy(std::uint32_t* to, const std::uint32_t* from) {
  std::memcpy(to, from, words * sizeof *to);
}

template <MmaRegisters words>
[[gnu::always_inline]] inline void mma(Call call, const std::uint32_t* a, const std::uint32_t* b,
                                       std::uint32_t* d, Where where) {
  const ThreadContext& lane = *current;
  copy<words.a>(&lane.exchange->a[std::size_t{words.a} * lane.lane], a);
  copy<words.b>(&lane.exchange->b[std::size_t{words.b} * lane.lane], b);
  copy<words.c>(&lane.exchange->c[std::size_t{words.c} * lane.lane], d);
  together(call, full_mask, where);
  const ThreadContext& again = *current;
  copy<words.c>(d, &again.exchange->d[std::size_t{words.c} * again.lane]);
}

}  // namespace exchanged

// The functions that simt.h calls. They pass copies of a kernel's variables to thread.h, because a
// variable whose address escapes cannot stay in a register.
namespace inlined {

[[gnu::always_inline]] inline std::uint64_t shuffle(Call call, unsigned mask, std::uint64_t value,
                                                    int operand, int width, Where where) {
  const unsigned from = source_lane(call, current->lane, static_cast<unsigned>(operand),
                                    static_cast<unsigned>(width));
  const bool defined = width > 0 && width <= static_cast<int>(warp_size) &&
                       (width & (width - 1)) == 0 && from < warp_size && (mask >> from & 1U) != 0;
  if (!defined || current->block->fault != nullptr)
    return emulator::shuffle(call, mask, value, operand, width, where);
  return exchanged::shuffle(call, mask, value, from, where);
}

template <unsigned count>
[[gnu::always_inline]] inline void ldmatrix(Call call, std::uint32_t (&r)[count], const void* row,
                                            Where where) {
  const BlockContext& block = *current->block;
  const auto at = reinterpret_cast<std::uintptr_t>(row),
             first = reinterpret_cast<std::uintptr_t>(block.shared);
  const bool defined = at >= first && at + 16 <= first + block.shared_bytes && at % 16 == 0;
  if (defined && block.fault == nullptr) return exchanged::ldmatrix(call, r, count, row, where);
  std::uint32_t copy_r[count];
  emulator::ldmatrix(call, copy_r, row, where);
  std::memcpy(r, copy_r, sizeof copy_r);
}

template <Call call>
[[gnu::always_inline]] inline void mma(const std::uint32_t* a, const std::uint32_t* b,
                                       std::uint32_t* d, Where where) {
  constexpr MmaRegisters words = registers(instruction(call));
  if (current->block->fault == nullptr) return exchanged::mma<words>(call, a, b, d, where);
  std::uint32_t copy_a[words.a], copy_b[words.b], copy_d[words.c];
  exchanged::copy<words.a>(copy_a, a);
  exchanged::copy<words.b>(copy_b, b);
  exchanged::copy<words.c>(copy_d, d);
  emulator::mma(call, copy_a, copy_b, copy_d, where);
  exchanged::copy<words.c>(d, copy_d);
}

}  // namespace inlined

}  // namespace plumbline::emulator
