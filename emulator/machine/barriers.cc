// __syncthreads and named barriers.
#include <fmt/format.h>

#include "emulator/machine/block.h"

namespace plumbline::emulator {
namespace {

// PTX: barriers 0 (__syncthreads) to 15; the thread count is a multiple of the warp size.
void check_named(Block& block, Call call, int id, int threads, const Where& where) {
  const int first = block.barriers() == BarrierMatch::id ? 0 : 1;
  if (id < first || id > 15)
    block.fail_at(call, where, fmt::format("barrier {}: named barriers are {} to 15", id, first));
  if (threads <= 0 || threads % static_cast<int>(warp_size) != 0 ||
      threads > static_cast<int>(max_threads)) {
    block.fail_at(call, where,
                  fmt::format("barrier {} of {} threads: a multiple of {} up to 1024 is needed", id,
                              threads, warp_size));
  }
}

}  // namespace

ThreadContext* arrive_at_syncthreads(Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if (block.skips(Call::syncthreads, where)) return nullptr;
  return block.arrive_at_block_barrier(lane, where);
}

void sync_threads(Where where) { continue_with(arrive_at_syncthreads(where)); }

Lane* Block::arrive_at_block_barrier(Lane& lane, const Where& where) {
  lane.wait = {Call::syncthreads, where, 0};
  if (barrier_arrived_++ == 0) {
    barrier_where_ = where;
  } else if (barriers() == BarrierMatch::place && !same_location(where, barrier_where_)) {
    barrier_diverged_ = true;
  }
  // If the threads arrived at different barriers, this wait never ends.
  if (!block_barrier_is_complete()) return next_while_blocked(lane);
  release_block_barrier();
  return next_by_schedule(lane);
}

bool Block::block_barrier_is_complete() const {
  const unsigned ended = barriers() == BarrierMatch::id ? finished_ : 0;
  return barrier_arrived_ != 0 && barrier_arrived_ + ended == thread_count_ && !barrier_diverged_;
}

void Block::release_block_barrier() {
  barrier_arrived_ = 0;
  for (unsigned w = 0; w < warps_.size(); ++w) wake(w, warps_[w].lanes & ~warps_[w].finished);
}

ThreadContext* arrive_at_named_barrier(Call call, int id, int threads, Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if (block.skips(call, where)) return nullptr;
  check_named(block, call, id, threads, where);
  NamedBarrier& barrier = block.named_barrier(id);
  const unsigned bit = 1U << lane.lane;
  if (barrier.expected == 0) {
    barrier.expected = static_cast<unsigned>(threads);
  } else if (barrier.expected != static_cast<unsigned>(threads)) {
    block.fail_at(call, where,
                  fmt::format("barrier {} of {} threads, but other threads expect {}", id, threads,
                              barrier.expected));
  }
  if ((barrier.arrived_lanes[lane.warp] & bit) != 0) {
    block.fail_at(call, where,
                  fmt::format("arrives twice at barrier {}, which has {} of {} threads", id,
                              barrier.arrived, threads));
  }
  barrier.arrived_lanes[lane.warp] |= bit;
  lane.wait = {call, where, static_cast<unsigned>(id)};
  if (++barrier.arrived < barrier.expected) {
    if (call == Call::named_barrier_arrive) return nullptr;
    barrier.waiting_lanes[lane.warp] |= bit;
    return block.next_while_blocked(lane);
  }
  for (unsigned w = 0; w < warp_size; ++w) {
    if (barrier.waiting_lanes[w] != 0) block.wake(w, barrier.waiting_lanes[w]);
  }
  barrier = {};
  return block.next_by_schedule(lane);
}

void named_barrier(Call call, int id, int threads, Where where) {
  continue_with(arrive_at_named_barrier(call, id, threads, where));
}

}  // namespace plumbline::emulator
