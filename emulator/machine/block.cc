// Runs a block's threads one at a time, schedules them, and checks its shared memory.
#include "emulator/machine/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace plumbline::emulator {
namespace {

constexpr std::size_t shared_alignment = 128;
constexpr std::size_t guard_bytes = 128;  // guard bytes, before and after shared memory
constexpr int guard_value = 0xA5;
// Offsets the stacks of a warp's lanes, so that equal depths fall on different parts of a page.
// Without it our kernels took 8 % longer (Xeon with AMX, 2026-11-25).
constexpr std::size_t stagger = 4096 / warp_size;
// a NaN in every floating-point format, including those of one and two bytes
constexpr int poison_value = 0xFF;

#ifdef __SANITIZE_ADDRESS__
void forbid(const std::byte* begin, std::size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
void allow(const std::byte* begin, std::size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
void forbid(const std::byte*, std::size_t) {}
void allow(const std::byte*, std::size_t) {}
#endif

}  // namespace

constinit thread_local ThreadContext* current = nullptr;

std::string Block::run(const Grid& grid, std::uint64_t number) {
  start(grid, number);
  Lane* const first = choose();
  current = first;
  outside_.switch_to(first->fiber, grid.options.switching);
  current = nullptr;
  allow(memory_.data(), memory_.size());
  if (failure_.empty()) failure_ = guard_damage();
  return failure_.empty() ? failure_ : prefix() + failure_;
}

void Block::start(const Grid& grid, std::uint64_t number) {
  grid_ = &grid;
  schedule_ = grid.options.schedule;
  context_.dimensions = grid.threads;
  context_.grid = grid.blocks;
  context_.index.x = static_cast<unsigned>(number % grid.blocks.x);
  context_.index.y = static_cast<unsigned>(number / grid.blocks.x % grid.blocks.y);
  context_.index.z = static_cast<unsigned>(number / grid.blocks.x / grid.blocks.y);
  context_.shared_bytes = grid.shared_bytes;
  context_.fault = grid.options.fault;
  context_.switching = grid.options.switching;
  std::string().swap(failure_);
  finished_ = 0;
  barrier_arrived_ = 0;
  barrier_diverged_ = false;
  for (NamedBarrier& barrier : named_barriers_) barrier = {};
  // splitmix64 of the seed and the block number
  std::uint64_t z = grid.options.seed + (number + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  random_state_ = (z ^ (z >> 31U)) | 1U;
  watched_ = grid.options.skipped.has_value() || grid.options.sites != nullptr ||
             grid.options.fault != nullptr;
  poison_shared();
  start_threads();
}

void Block::start_threads() {
  const Dim3 size = grid_->threads;
  thread_count_ = size.x * size.y * size.z;
  const std::size_t stack_bytes =
      grid_->options.stack_bytes == 0 ? default_stack_bytes : grid_->options.stack_bytes;
  if (stack_bytes != stack_bytes_) lanes_.clear();
  stack_bytes_ = stack_bytes;
  lanes_.reserve(max_threads);
  while (lanes_.size() < thread_count_)
    lanes_.emplace_back(stack_bytes, lanes_.size() % warp_size * stagger);
  warps_.resize((thread_count_ + warp_size - 1) / warp_size);
  ready_warps_ = 0;
  for (unsigned w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    const unsigned count = std::min(warp_size, thread_count_ - w * warp_size);
    warp.lanes = full_mask >> (warp_size - count);
    warp.finished = warp.gatherings = warp.ready = warp.converging = 0;
    warp.products = nullptr;
    wake(w, warp.lanes);
  }
  for (unsigned thread = 0; thread < thread_count_; ++thread) {
    Lane& lane = lanes_[thread];
    lane.owner = this;
    lane.exchange = &warps_[thread / warp_size];
    lane.block = &context_;
    lane.index = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
    lane.warp = thread / warp_size;
    lane.lane = thread % warp_size;
    lane.copies.clear();
    lane.group_ends.clear();
    lane.notes = {};
    lane.fiber.prepare(grid_->options.switching, fiber_main);
  }
}

// Entry of each thread's fiber. Exceptions must not cross a switch, so a kernel's exception ends
// here.
void Block::fiber_main() {
  Fiber::entered();
  Block& block = of(self());
  std::string thrown;
  try {
    block.grid_->kernel.invoke(block.grid_->kernel.call);
  } catch (const std::exception& error) {
    thrown = fmt::format("warp {} lane {}: the kernel threw: {}", self().warp, self().lane,
                         error.what());
  } catch (...) {
    thrown = fmt::format("warp {} lane {}: the kernel threw", self().warp, self().lane);
  }
  if (!thrown.empty()) block.fail(std::move(thrown));
  block.finish(self());
}

void Block::finish(Lane& lane) {
  Warp& warp = warps_[lane.warp];
  warp.finished |= 1U << lane.lane;
  remove_ready(lane.warp, 1U << lane.lane);
  if (++finished_ == thread_count_) {
    lane.fiber.switch_to(outside_, grid_->options.switching, true);
    __builtin_unreachable();
  }
  if (block_barrier_is_complete()) release_block_barrier();
  Lane* const next = choose();
  if (next == nullptr) fail_stuck();
  current = next;
  lane.fiber.switch_to(next->fiber, grid_->options.switching, true);
  __builtin_unreachable();
}

Lane* Block::choose_random() {
  const auto pick = [this](unsigned set) {
    random_state_ ^= random_state_ << 13U;  // xorshift64
    random_state_ ^= random_state_ >> 7U;
    random_state_ ^= random_state_ << 17U;
    auto skip =
        static_cast<unsigned>(random_state_ >> 32U) % static_cast<unsigned>(std::popcount(set));
    while (skip-- > 0) set &= set - 1;
    return static_cast<unsigned>(std::countr_zero(set));
  };
  const unsigned w = pick(ready_warps_);
  return &lanes_[w * warp_size + pick(warps_[w].ready)];
}

// The stack of the failing lane is never unwound, so no object on that stack may own memory. `what`
// is swapped, because after an assignment `what` could still own a buffer.
void Block::fail(std::string what) {
  failure_.swap(what);
  self().fiber.switch_to(outside_, grid_->options.switching, true);
  __builtin_unreachable();
}

void Block::fail_stuck() { fail(describe_stuck()); }

bool Block::watch(Call call, const Where& where) {
  const auto same = [&](const Visit& visit) {
    return visit.call == call && same_location(visit.where, where);
  };
  if (grid_->options.sites != nullptr && std::none_of(visits_.begin(), visits_.end(), same))
    visits_.push_back({call, where});
  const bool is_wait = call == Call::cp_async_wait;
  if (fault() != nullptr && !is_wait && fault()->leaves_out(self().notes, call)) return true;
  const auto& skipped = grid_->options.skipped;
  return skipped && skipped->line == where.line() &&
         (skipped->call.empty() || skipped->call == name(call)) && skipped->file == file_of(where);
}

void Block::poison_shared() {
  const std::size_t bytes = grid_->shared_bytes;
  memory_.resize(shared_alignment + 2 * guard_bytes + bytes);
  auto first = reinterpret_cast<std::uintptr_t>(memory_.data()) + guard_bytes;
  first = (first + shared_alignment - 1) / shared_alignment * shared_alignment;
  context_.shared = reinterpret_cast<std::byte*>(first);
  std::memset(context_.shared - guard_bytes, guard_value, guard_bytes);
  std::memset(context_.shared, poison_value, bytes);
  std::memset(context_.shared + bytes, guard_value, guard_bytes);
  forbid(context_.shared - guard_bytes, guard_bytes);
  forbid(context_.shared + bytes, guard_bytes);
}

std::string Block::guard_damage() const {
  const auto damaged = [](std::byte value) { return value != static_cast<std::byte>(guard_value); };
  const std::byte* const before = context_.shared - guard_bytes;
  const std::byte* const after = context_.shared + grid_->shared_bytes;
  if (const std::byte* at = std::find_if(before, before + guard_bytes, damaged);
      at != before + guard_bytes) {
    return fmt::format("wrote before its shared memory: {} bytes before byte 0",
                       context_.shared - at);
  }
  if (const std::byte* at = std::find_if(after, after + guard_bytes, damaged);
      at != after + guard_bytes) {
    return fmt::format("wrote past its {} bytes of shared memory: at byte {}", grid_->shared_bytes,
                       at - context_.shared);
  }
  return {};
}

void Block::check_shared(Call call, const Where& where, const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(context_.shared);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  if (at < first || at + bytes > first + grid_->shared_bytes) {
    fail_at(call, where,
            fmt::format("accesses bytes from {} on, but shared memory has {} bytes",
                        static_cast<std::int64_t>(at - first), grid_->shared_bytes));
  }
  if (at % bytes != 0)
    fail_at(call, where,
            fmt::format("byte {} of shared memory is not {}-byte aligned", at - first, bytes));
}

}  // namespace plumbline::emulator
