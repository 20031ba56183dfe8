// The collectives of a warp: shuffles, votes, ldmatrix, mma. Each lane brings its part and waits;
// the last one to arrive does the work for all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "emulator/machine/block.h"
#include "emulator/machine/denormals.h"
#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {
namespace {

// Returns true if the call is ".aligned": all lanes must be at the same instruction. An equal
// instruction at another place does not count.
bool aligned(Call call) { return call >= Call::ldmatrix_x1; }

// This function is separate, so that no temporary string leaks on the failing lane's stack.
std::string describe(const Gathering& gathering) {
  return fmt::format("while lanes {} of the warp are in {} at {}", lane_list(gathering.arrived),
                     name(gathering.call), place(gathering.where));
}

Gathering& gathering_of(Block& block, Warp& warp, Call call, unsigned mask, const Where& where) {
  if (call >= Call::mma_f16 && !supports(block.arch(), instruction(call)))
    block.fail_at(call, where, fmt::format("{} has no such instruction", name(block.arch())));
  for (unsigned i = 0; i < warp.gatherings; ++i) {
    Gathering& gathering = warp.gathering[i];
    if (gathering.mask != mask) continue;
    const bool elsewhere = aligned(call) && !same_location(gathering.where, where);
    if (gathering.call != call || elsewhere) {
      block.fail_at(call, where, describe(gathering));
    }
    return gathering;
  }
  warp.gathering[warp.gatherings] = {call, where, mask, 0};
  return warp.gathering[warp.gatherings++];
}

// The 8 x 8 matrices of an ldmatrix or stmatrix: their number, and whether registers hold columns.
struct Matrices {
  unsigned count;
  bool transposed;
};
Matrices matrices(Call call) {
  const auto at = static_cast<unsigned>(call) - static_cast<unsigned>(Call::ldmatrix_x1);
  return {1U << at / 2 % 3, at % 2 == 1};
}
static_assert(static_cast<unsigned>(Call::stmatrix_x4_trans) ==
              static_cast<unsigned>(Call::ldmatrix_x1) + 11);

using Words = std::uint32_t __attribute__((vector_size(16)));
using Elements = std::uint16_t __attribute__((vector_size(16)));

// Transposes 8 rows of 8 elements.
void transpose(Elements (&m)[8]) {
  Elements pairs[8], quads[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = __builtin_shufflevector(m[i], m[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    pairs[2 * i + 1] = __builtin_shufflevector(m[i], m[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 4; ++i) {
    quads[2 * i] = __builtin_shufflevector(pairs[i], pairs[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    quads[2 * i + 1] = __builtin_shufflevector(pairs[i], pairs[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 4; ++i) {
    m[2 * i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    m[2 * i + 1] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

void load_matrices(Call call, Exchange& exchange) {
  const auto [n, transposed] = matrices(call);
  Elements matrix[4][8] = {};
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < 8; ++j)
      std::memcpy(&matrix[i][j], reinterpret_cast<const void*>(exchange.in[8 * i + j]),
                  sizeof matrix[i][j]);
    if (transposed) transpose(matrix[i]);
  }
  for (unsigned j = 0; j < 8; ++j) {
    Words row[4];
    for (unsigned i = 0; i < 4; ++i) row[i] = std::bit_cast<Words>(matrix[i][j]);
    const Words low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
                high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
                low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
                high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const Words of_lanes[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                               __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                               __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                               __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
    std::memcpy(&exchange.d[16 * j], of_lanes, sizeof of_lanes);
  }
}

void store_matrices(Call call, const Exchange& exchange) {
  const auto [n, transposed] = matrices(call);
  for (unsigned i = 0; i < n; ++i) {
    std::uint16_t matrix[8][8];
    for (unsigned l = 0; l < warp_size; ++l) {
      const unsigned major = l / 4, minor = 2 * (l % 4);
      const std::uint32_t both = exchange.a[4 * l + i];
      (transposed ? matrix[minor][major] : matrix[major][minor]) = static_cast<std::uint16_t>(both);
      (transposed ? matrix[minor + 1][major] : matrix[major][minor + 1]) =
          static_cast<std::uint16_t>(both >> 16U);
    }
    for (unsigned j = 0; j < 8; ++j)
      std::memcpy(reinterpret_cast<void*>(exchange.in[8 * i + j]), matrix[j], sizeof matrix[j]);
  }
}

void multiply(const Block& block, Call call, Exchange& exchange) {
  const Fault* const fault = block.fault();
  if (fault != nullptr && fault->computes(Block::self().notes, block.arch(), instruction(call),
                                          exchange.a, exchange.b, exchange.c, exchange.d))
    return;
  const Denormals kept(false);
  const MmaInstruction how = instruction(call);
  if (exchange.products == nullptr)
    return mma_sync(block.arch(), how, exchange.a, exchange.b, exchange.c, exchange.d);
  const MmaRegisters words = registers(how);
  const auto matrix = [](std::uint32_t* first, int words_of_lane, unsigned i) {
    return first + warp_size * static_cast<unsigned>(words_of_lane) * i;
  };
  for (unsigned i = 0; i < exchange.product_count; ++i) {
    const Product& product = exchange.products[i];
    std::uint32_t* const c = matrix(exchange.c, words.c, i);
    mma_sync(block.arch(), how, matrix(exchange.a, words.a, product.a),
             matrix(exchange.b, words.b, product.b), c, c);
  }
  exchange.products = nullptr;
}

void vote(unsigned mask, Exchange& exchange) {
  unsigned votes = 0;
  for (unsigned i = 0; i < warp_size; ++i) votes |= (exchange.in[i] != 0 ? 1U : 0U) << i;
  for (unsigned i = 0; i < warp_size; ++i) {
    if ((mask >> i & 1U) != 0) exchange.out[i] = votes & mask;
  }
}

template <class Result>
void for_lanes(unsigned mask, Exchange& exchange, const Result& result) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    exchange.out[i] = result(i);
  }
}

// Performs the collective after all lanes of the mask have arrived. It is not inlined, so that the
// caller has fewer registers to save.
__attribute__((noinline)) void work(const Block& block, Call call, unsigned mask,
                                    Exchange& exchange) {
  if (call >= Call::mma_f16) return multiply(block, call, exchange);
  if (call >= Call::stmatrix_x1) return store_matrices(call, exchange);
  if (call >= Call::ldmatrix_x1) return load_matrices(call, exchange);
  switch (call) {
    case Call::shfl:
    case Call::shfl_up:
    case Call::shfl_down:
    case Call::shfl_xor:
      return for_lanes(mask, exchange, [&](unsigned i) { return exchange.in[exchange.from[i]]; });
    case Call::ballot:
    case Call::any:
    case Call::all:
      return vote(mask, exchange);
    case Call::match:
    case Call::redux:
      return for_lanes(mask, exchange,
                       [&](unsigned i) { return exchange.combined(exchange.in, mask, i); });
    default:  // syncwarp
      return;
  }
}

[[gnu::always_inline]] inline ThreadContext* arrived(Call call, unsigned mask, Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  Warp& warp = Block::warp_of(lane);
  const unsigned bit = 1U << lane.lane;
  if ((mask & bit) == 0)
    block.fail_at(call, where, fmt::format("the mask {:#010x} leaves out the calling lane", mask));
  Gathering& first = warp.gathering[0];
  const bool alike = warp.gatherings != 0 && first.mask == mask && first.call == call &&
                     std::bit_cast<const void*>(first.where) == std::bit_cast<const void*>(where);
  Gathering& gathering = alike ? first : gathering_of(block, warp, call, mask, where);
  gathering.arrived |= bit;
  if (gathering.arrived != mask) {
    // assigned one by one: copying a temporary Wait would stall until its fields are in the cache
    lane.wait.call = call;
    lane.wait.where = where;
    lane.wait.detail = mask;
    return block.next_while_blocked(lane);
  }
  if (--warp.gatherings != 0) gathering = warp.gathering[warp.gatherings];
  work(block, call, mask, warp);
  block.wake(lane.warp, mask);
  return block.random_order() ? block.next_by_schedule(lane) : nullptr;
}

}  // namespace

ThreadContext* arrive(Call call, unsigned mask, Where where) { return arrived(call, mask, where); }

void* suspend_for(ThreadContext& next) {
  continue_with(&next);
  return nullptr;
}

void* arrive_to_stack(Call call, unsigned mask, Where where) {
  return stack_to_resume(arrived(call, mask, where));
}

ThreadContext* arrive_at_syncwarp(unsigned mask, Where where) {
  if (Block::of(Block::self()).skips(Call::syncwarp, where)) return nullptr;
  return arrive(Call::syncwarp, mask, where);
}

void sync_warp(unsigned mask, Where where) { continue_with(arrive_at_syncwarp(mask, where)); }

std::uint64_t shuffle(Call call, unsigned mask, std::uint64_t value, int operand, int width,
                      Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if (width <= 0 || width > static_cast<int>(warp_size) || (width & (width - 1)) != 0) {
    block.fail_at(call, where,
                  fmt::format("width {} is not a power of two up to {}", width, warp_size));
  }
  if (const Fault* fault = block.fault()) call = fault->shuffle(lane.notes, call, operand);
  const unsigned from =
      source_lane(call, lane.lane, static_cast<unsigned>(operand), static_cast<unsigned>(width));
  if (from >= warp_size || (mask >> from & 1U) == 0) {
    block.fail_at(call, where,
                  fmt::format("reads lane {}, which the mask {:#010x} leaves out", from, mask));
  }
  return exchanged::shuffle(call, mask, value, from, where);
}

std::uint64_t combine(Call call, unsigned mask, std::uint64_t value, Combine combined,
                      Where where) {
  const Lane& lane = Block::self();
  lane.exchange->in[lane.lane] = value;
  lane.exchange->combined = combined;
  together(call, mask, where);
  return lane.exchange->out[lane.lane];
}

ThreadContext* arrive_to_converge() {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  return block.lanes() == Lanes::lockstep ? block.next_while_converging(lane) : nullptr;
}

void converge() { continue_with(arrive_to_converge()); }

void check_row(Call call, const void* row, Where where) {
  Lane& lane = Block::self();
  if (lane.lane < 8 * matrices(call).count) Block::of(lane).check_shared(call, where, row, 16);
}

void ldmatrix(Call call, std::uint32_t* r, const void* row, Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  const Fault* const fault = block.fault();
  if (fault != nullptr) {
    const std::byte* const shared = lane.block->shared;
    auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(row) - shared);
    call = fault->load(lane.notes, call, offset);
    row = shared + offset;
  }
  check_row(call, row, where);
  exchanged::ldmatrix(call, r, matrices(call).count, row, where);
  if (fault != nullptr) fault->loaded(lane.notes, call, r);
}

void stmatrix(Call call, const std::uint32_t* r, void* row, Where where) {
  const Lane& lane = Block::self();
  check_row(call, row, where);
  lane.exchange->in[lane.lane] = reinterpret_cast<std::uintptr_t>(row);
  std::memcpy(&lane.exchange->a[std::size_t{4} * lane.lane], r, matrices(call).count * sizeof *r);
  together(call, full_mask, where);
}

namespace {

void mma_unchanged(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d,
                   Where where) {
  const MmaRegisters words = registers(instruction(call));
  if (words.a == 4) {
    return words.c == 4 ? exchanged::mma<MmaRegisters{4, 2, 4}>(call, a, b, d, where)
                        : exchanged::mma<MmaRegisters{4, 2, 2}>(call, a, b, d, where);
  }
  return words.c == 4 ? exchanged::mma<MmaRegisters{2, 1, 4}>(call, a, b, d, where)
                      : exchanged::mma<MmaRegisters{2, 1, 2}>(call, a, b, d, where);
}

// Performs an mma.sync. The fault may change its operands and result.
void mma_with(const Fault& fault, Call call, const std::uint32_t* a, const std::uint32_t* b,
              std::uint32_t* d, Where where) {
  Lane& lane = Block::self();
  std::array<std::uint32_t, 4> own_a;
  std::array<std::uint32_t, 2> own_b;
  std::copy_n(a, own_a.size(), own_a.begin());
  std::copy_n(b, own_b.size(), own_b.begin());
  if (fault.multiply(lane.notes, call, own_a.data(), own_b.data(), d))
    mma_unchanged(call, own_a.data(), own_b.data(), d, where);
  fault.product(lane.notes, call, d);
}

}  // namespace

void mma(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where where) {
  const Fault* const fault = Block::of(Block::self()).fault();
  if (fault != nullptr) return mma_with(*fault, call, a, b, d, where);
  mma_unchanged(call, a, b, d, where);
}

}  // namespace plumbline::emulator
