// Implements what the lanes of a warp do together: shuffles, votes, ldmatrix, mma. Each lane brings
// its part and waits; the last to arrive does the work of all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/emulator/block.h"
#include "kernels/emulator/tensor_core.h"

namespace plumbline::emulator {
namespace {

// ".aligned" instructions must be the same instruction for all lanes, not just one like it.
bool aligned(Call call) { return call >= Call::ldmatrix_x1; }

// Apart, so that no temporary string stays behind on the failing lane's stack.
std::string describe(const Gathering& gathering) {
  return fmt::format("while lanes {} of the warp are in {} at {}", lane_list(gathering.arrived),
                     name(gathering.call), place(gathering.where));
}

Gathering& gathering_of(Block& block, Warp& warp, Call call, unsigned mask, const Where& where) {
  for (unsigned i = 0; i < warp.gatherings; ++i) {
    Gathering& gathering = warp.gathering[i];
    if (gathering.mask != mask) continue;
    const bool elsewhere = aligned(call) && !same_place(gathering.where, where);
    if (gathering.call != call || elsewhere) {
      block.fail_at(call, where, describe(gathering));
    }
    return gathering;
  }
  warp.gathering[warp.gatherings] = {call, where, mask, 0};
  return warp.gathering[warp.gatherings++];
}

// `bring` stores the lane's part; `work` runs once, when all lanes of the mask have brought theirs.
template <class Bring, class Work>
void together(Call call, unsigned mask, const Where& where, const Bring& bring, const Work& work) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  Warp& warp = block.warp_of(lane);
  const unsigned bit = 1U << lane.lane;
  if ((mask & bit) == 0)
    block.fail_at(call, where,
                  fmt::format("the mask {:#010x} leaves out the lane that calls", mask));
  bring(warp, lane.lane);
  Gathering& gathering = gathering_of(block, warp, call, mask, where);
  gathering.arrived |= bit;
  if (gathering.arrived != mask) {
    lane.wait = {call, where, mask};
    block.suspend(lane);
    return;
  }
  gathering = warp.gathering[--warp.gatherings];
  work(block, warp);
  block.wake(lane.warp, mask);
  if (block.random_order()) block.yield(lane);
}

// The lane that `lane` reads from, as the PTX ISA has it for shfl.sync; itself where that lies
// outside of its segment.
unsigned source_lane(Call call, unsigned lane, unsigned operand, unsigned width) {
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

constexpr MmaInstruction instruction(Call call) {
  switch (call) {
    case Call::mma_f16:
      return {MmaFormat::f16, MmaAccumulator::f32, 16};
    case Call::mma_f16_f16:
      return {MmaFormat::f16, MmaAccumulator::f16, 16};
    case Call::mma_bf16:
      return {MmaFormat::bf16, MmaAccumulator::f32, 16};
    case Call::mma_tf32:
      return {MmaFormat::tf32, MmaAccumulator::f32, 8};
    case Call::mma_e4m3:
      return {MmaFormat::e4m3, MmaAccumulator::f32, 32};
    case Call::mma_f16_k8:
      return {MmaFormat::f16, MmaAccumulator::f32, 8};
    case Call::mma_f16_f16_k8:
      return {MmaFormat::f16, MmaAccumulator::f16, 8};
    case Call::mma_bf16_k8:
      return {MmaFormat::bf16, MmaAccumulator::f32, 8};
    case Call::mma_tf32_k4:
      return {MmaFormat::tf32, MmaAccumulator::f32, 4};
    case Call::mma_e4m3_k16:
      return {MmaFormat::e4m3, MmaAccumulator::f32, 16};
    case Call::mma_e5m2_k16:
      return {MmaFormat::e5m2, MmaAccumulator::f32, 16};
    default:
      return {MmaFormat::e5m2, MmaAccumulator::f32, 32};
  }
}

// Words of a lane's registers: 1, 2 or 4, copied without a loop.
void copy(std::uint32_t* to, const std::uint32_t* from, int words) {
  switch (words) {
    case 4:
      std::memcpy(to, from, 4 * sizeof *to);
      return;
    case 2:
      std::memcpy(to, from, 2 * sizeof *to);
      return;
    default:
      *to = *from;
  }
}

// Of ldmatrix and stmatrix: how many 8 x 8 matrices, and whether registers hold columns.
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

}  // namespace

void sync_warp(unsigned mask, Where where) {
  if (Block::of(Block::self()).skips(Call::syncwarp, where)) return;
  together(
      Call::syncwarp, mask, where, [](Warp&, unsigned) {}, [](Block&, Warp&) {});
}

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
  together(
      call, mask, where,
      [value, from](Warp& warp, unsigned at) {
        warp.in[at] = value;
        warp.from[at] = static_cast<std::uint8_t>(from);
      },
      [mask](Block&, Warp& warp) {
        for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
          const auto i = static_cast<unsigned>(std::countr_zero(rest));
          warp.out[i] = warp.in[warp.from[i]];
        }
      });
  return block.warp_of(lane).out[lane.lane];
}

unsigned ballot(Call call, unsigned mask, bool predicate, Where where) {
  Lane& lane = Block::self();
  together(
      call, mask, where,
      [predicate](Warp& warp, unsigned at) { warp.in[at] = predicate ? 1U : 0U; },
      [mask](Block&, Warp& warp) {
        unsigned votes = 0;
        for (unsigned i = 0; i < warp_size; ++i) votes |= (warp.in[i] != 0 ? 1U : 0U) << i;
        for (unsigned i = 0; i < warp_size; ++i) {
          if ((mask >> i & 1U) != 0) warp.out[i] = votes & mask;
        }
      });
  return static_cast<unsigned>(Block::of(lane).warp_of(lane).out[lane.lane]);
}

std::uint64_t combine(Call call, unsigned mask, std::uint64_t value, Combine combined,
                      Where where) {
  Lane& lane = Block::self();
  together(
      call, mask, where, [value](Warp& warp, unsigned at) { warp.in[at] = value; },
      [mask, combined](Block&, Warp& warp) {
        for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
          const auto i = static_cast<unsigned>(std::countr_zero(rest));
          warp.out[i] = combined(warp.in.data(), mask, i);
        }
      });
  return Block::of(lane).warp_of(lane).out[lane.lane];
}

void converge() {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if (block.lanes() == Lanes::lockstep) block.converge(lane);
}

// Lane 8 i + r names row r of matrix i. Register i of lane l: row l / 4, columns 2 (l % 4) and the
// next; with .trans: rows 2 (l % 4) and the next, column l / 4.
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
  const unsigned count = matrices(call).count;
  if (lane.lane < 8 * count) block.check_shared(call, where, row, 16);
  together(
      call, full_mask, where,
      [row](Warp& warp, unsigned at) { warp.in[at] = reinterpret_cast<std::uintptr_t>(row); },
      [call](Block&, Warp& warp) {
        const auto [n, transposed] = matrices(call);
        for (unsigned i = 0; i < n; ++i) {
          std::uint16_t matrix[8][8];
          for (unsigned j = 0; j < 8; ++j)
            std::memcpy(matrix[j], reinterpret_cast<const void*>(warp.in[8 * i + j]),
                        sizeof matrix[j]);
          for (unsigned l = 0; l < warp_size; ++l) {
            const unsigned major = l / 4, minor = 2 * (l % 4);
            const std::uint32_t low = transposed ? matrix[minor][major] : matrix[major][minor];
            const std::uint32_t high =
                transposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
            warp.d[4 * l + i] = low | high << 16U;
          }
        }
      });
  std::memcpy(r, &block.warp_of(lane).d[std::size_t{4} * lane.lane], count * sizeof *r);
  if (fault != nullptr) fault->loaded(lane.notes, call, r);
}

void stmatrix(Call call, const std::uint32_t* r, void* row, Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  const unsigned count = matrices(call).count;
  if (lane.lane < 8 * count) block.check_shared(call, where, row, 16);
  together(
      call, full_mask, where,
      [&](Warp& warp, unsigned at) {
        warp.in[at] = reinterpret_cast<std::uintptr_t>(row);
        std::memcpy(&warp.a[std::size_t{4} * at], r, count * sizeof *r);
      },
      [call](Block&, Warp& warp) {
        const auto [n, transposed] = matrices(call);
        for (unsigned i = 0; i < n; ++i) {
          std::uint16_t matrix[8][8];
          for (unsigned l = 0; l < warp_size; ++l) {
            const unsigned major = l / 4, minor = 2 * (l % 4);
            const std::uint32_t both = warp.a[4 * l + i];
            (transposed ? matrix[minor][major] : matrix[major][minor]) =
                static_cast<std::uint16_t>(both);
            (transposed ? matrix[minor + 1][major] : matrix[major][minor + 1]) =
                static_cast<std::uint16_t>(both >> 16U);
          }
          for (unsigned j = 0; j < 8; ++j)
            std::memcpy(reinterpret_cast<void*>(warp.in[8 * i + j]), matrix[j], sizeof matrix[j]);
        }
      });
}

namespace {

void multiply(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d,
              Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if (!supports(block.arch(), instruction(call)))
    block.fail_at(call, where, fmt::format("{} has no such instruction", name(block.arch())));
  const MmaRegisters words = registers(instruction(call));
  together(
      call, full_mask, where,
      [&](Warp& warp, unsigned at) {
        copy(warp.a.data() + static_cast<std::size_t>(words.a) * at, a, words.a);
        copy(warp.b.data() + static_cast<std::size_t>(words.b) * at, b, words.b);
        copy(warp.c.data() + static_cast<std::size_t>(words.c) * at, d, words.c);
      },
      [call](Block& of, Warp& warp) {
        const Fault* const fault = of.fault();
        if (fault != nullptr &&
            fault->computes(Block::self().notes, of.arch(), instruction(call), warp.a.data(),
                            warp.b.data(), warp.c.data(), warp.d.data())) {
          return;
        }
        mma_sync(of.arch(), instruction(call), warp.a.data(), warp.b.data(), warp.c.data(),
                 warp.d.data());
      });
  copy(d, block.warp_of(lane).d.data() + static_cast<std::size_t>(words.c) * lane.lane, words.c);
}

// An mma.sync whose operands or arithmetic a fault changes.
void mma_with(const Fault& fault, Call call, const std::uint32_t* a, const std::uint32_t* b,
              std::uint32_t* d, Where where) {
  Lane& lane = Block::self();
  std::array<std::uint32_t, 4> own_a;
  std::array<std::uint32_t, 2> own_b;
  std::copy_n(a, own_a.size(), own_a.begin());
  std::copy_n(b, own_b.size(), own_b.begin());
  if (fault.multiply(lane.notes, call, own_a.data(), own_b.data(), d))
    multiply(call, own_a.data(), own_b.data(), d, where);
  fault.product(lane.notes, call, d);
}

}  // namespace

void mma(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where where) {
  const Fault* const fault = Block::of(Block::self()).fault();
  if (fault != nullptr) return mma_with(*fault, call, a, b, d, where);
  multiply(call, a, b, d, where);
}

}  // namespace plumbline::emulator
