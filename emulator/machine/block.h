// A running block: its threads as fibers, its shared memory, its barriers. The fibers belong to the
// OS thread that calls run().
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/machine/collectives.h"
#include "emulator/machine/fiber.h"
#include "emulator/machine/launch.h"
#include "emulator/machine/thread.h"

namespace plumbline::emulator {

inline constexpr unsigned max_threads = 1024;

// The properties that all blocks of a launch share.
struct Grid {
  const LaunchOptions& options;
  Dim3 blocks;
  Dim3 threads;
  std::size_t shared_bytes;
  KernelCall kernel;
};

// The call that a suspended thread is in.
struct Wait {
  Call call{};
  Where where;
  unsigned detail = 0;  // the mask of a warp collective, or the id of a named barrier
};

struct AsyncCopy {
  std::byte* shared;
  const void* global;
  std::size_t source_bytes;  // read from global memory; the rest is filled with zeros
  std::size_t bytes;         // written to shared memory
};

class Block;

struct Lane : ThreadContext {
  Lane(std::size_t stack_bytes, std::size_t stagger) { fiber = Fiber(stack_bytes, stagger); }
  Block* owner = nullptr;
  unsigned warp = 0;
  Wait wait;
  std::vector<AsyncCopy> copies;        // copies that have not landed, oldest first
  std::vector<std::size_t> group_ends;  // end of each committed group, as an index into `copies`
  Notes notes{};                        // of the launch's fault
};

// Lanes of one warp that wait for the rest of `mask` in the same collective. Disjoint groups of a
// diverged warp can wait at the same time.
struct Gathering {
  Call call;
  Where where;
  unsigned mask;
  unsigned arrived;
};

struct Warp : Exchange {
  unsigned lanes = 0;  // mask of the lanes that exist
  unsigned ready = 0;  // mask of the lanes that can run or are running
  // Mask of the lanes that wait in converge() until `ready` is empty; then they become ready.
  unsigned converging = 0;
  unsigned finished = 0;
  unsigned gatherings = 0;
  std::array<Gathering, warp_size> gathering;
};

struct NamedBarrier {
  unsigned expected = 0;  // threads; 0: no thread has arrived
  unsigned arrived = 0;
  std::array<unsigned, warp_size> arrived_lanes{}, waiting_lanes{};  // a mask per warp
};

struct Visit {
  Call call;
  Where where;
};

class Block {
 public:
  // Runs block `number` of the grid to its end. Returns an error text, or "" on success. A block
  // object can be reused, by one OS thread at a time.
  std::string run(const Grid& grid, std::uint64_t number);

  // Barriers and waits reached so far, each once. Empty unless the launch collects them.
  [[nodiscard]] const std::vector<Visit>& visits() const { return visits_; }
  void clear_visits() { visits_.clear(); }

  // Used by the calls of threads (collectives.cc, barriers.cc, async_copy.cc). self() is the
  // running lane.
  static Lane& self();
  static Block& of(const Lane& lane);
  static Warp& warp_of(const Lane& lane) { return static_cast<Warp&>(*lane.exchange); }
  [[nodiscard]] Arch arch() const { return grid_->options.arch; }
  [[nodiscard]] BarrierMatch barriers() const { return grid_->options.barriers; }
  [[nodiscard]] Lanes lanes() const { return grid_->options.lanes; }
  void wake(unsigned warp, unsigned lanes);
  // Returns the lane to run while the running lane waits to be woken; nullptr: the running lane
  // itself.
  Lane* next_while_blocked(Lane& lane);
  // Returns the lane to run while the running lane waits for the ready lanes of its warp; nullptr:
  // the running lane itself.
  Lane* next_while_converging(Lane& lane);
  // Returns the lane that the schedule chooses among all ready lanes; nullptr: the running lane.
  Lane* next_by_schedule(const Lane& lane);
  [[nodiscard]] bool random_order() const { return schedule_ == Schedule::random; }
  // Ends the block. The running lane is never resumed.
  [[noreturn]] void fail(std::string what);
  [[noreturn]] void fail_stuck();  // no lane can run
  // Ends the block because of the running lane's call: "warp 0 lane 3, ldmatrix_x4 at
  // kernel.cuh:12: ..."
  [[noreturn]] void fail_at(Call call, const Where& where, std::string what);
  // Records the site. Returns true if the launch leaves the call out.
  bool skips(Call call, const Where& where) { return watched_ && watch(call, where); }
  // The fault that changes the calls of the block's threads; nullptr: none.
  [[nodiscard]] const Fault* fault() const { return grid_->options.fault; }
  // Ends the block unless [begin, begin + bytes) lies in shared memory and is aligned to `bytes`.
  void check_shared(Call call, const Where& where, const void* begin, std::size_t bytes);

  Lane* arrive_at_block_barrier(Lane& lane, const Where& where);
  NamedBarrier& named_barrier(int id) { return named_barriers_[static_cast<std::size_t>(id)]; }

 private:
  void start(const Grid& grid, std::uint64_t number);
  void start_threads();
  void poison_shared();
  [[nodiscard]] std::string guard_damage() const;
  static void fiber_main();
  void finish(Lane& lane);
  void remove_ready(unsigned warp, unsigned lanes);
  [[nodiscard]] bool block_barrier_is_complete() const;
  void release_block_barrier();
  Lane* choose();
  Lane* choose_random();
  Lane* choose_neighbour(Lane& lane);
  bool watch(Call call, const Where& where);
  // diagnosis.cc
  [[nodiscard]] std::string describe_stuck() const;
  [[nodiscard]] std::string describe_lanes(unsigned warp) const;
  [[nodiscard]] std::string describe_wait(unsigned warp, const Wait& wait) const;
  [[nodiscard]] std::string prefix() const;

  const Grid* grid_ = nullptr;
  Schedule schedule_{};
  BlockContext context_;
  Fiber outside_;  // the OS thread, while fibers run
  std::vector<Lane> lanes_;
  std::vector<Warp> warps_;
  unsigned thread_count_ = 0;
  unsigned finished_ = 0;
  unsigned ready_warps_ = 0;  // bit w: warp w has a lane that can run
  std::uint64_t random_state_ = 0;
  // The current generation of __syncthreads.
  unsigned barrier_arrived_ = 0;
  Where barrier_where_;
  bool barrier_diverged_ = false;  // threads arrived from different source lines
  std::array<NamedBarrier, 16> named_barriers_;
  std::vector<std::byte> memory_;  // shared memory between its guard bytes
  std::string failure_;
  bool watched_ = false;
  std::vector<Visit> visits_;
  std::size_t stack_bytes_ = 0;
};

inline Lane& Block::self() { return *static_cast<Lane*>(current); }
inline Block& Block::of(const Lane& lane) { return *lane.owner; }

// Returns nullptr if no lane can run.
inline Lane* Block::choose() {
  if (ready_warps_ == 0) return nullptr;
  switch (schedule_) {
    case Schedule::in_order: {
      const auto w = static_cast<unsigned>(std::countr_zero(ready_warps_));
      return &lanes_[w * warp_size + static_cast<unsigned>(std::countr_zero(warps_[w].ready))];
    }
    case Schedule::reversed: {
      const auto w = static_cast<unsigned>(std::bit_width(ready_warps_)) - 1;
      return &lanes_[w * warp_size + static_cast<unsigned>(std::bit_width(warps_[w].ready)) - 1];
    }
    case Schedule::random:
      return choose_random();
  }
  return nullptr;
}

// Returns the lane after `lane` (in reversed order, the one before) if choose() would return that
// lane; otherwise nullptr. These branches predict well, so the processor continues before `ready`
// is known.
inline Lane* Block::choose_neighbour(Lane& lane) {
  const unsigned bit = 1U << lane.lane, ready = warp_of(lane).ready;
  if (schedule_ == Schedule::in_order) {
    const bool first_warp = (ready_warps_ & -ready_warps_) == 1U << lane.warp;
    return first_warp && (ready & -ready & bit << 1U) != 0 ? &lane + 1 : nullptr;
  }
  if (schedule_ == Schedule::reversed) {
    const bool last_warp = ready_warps_ >> lane.warp == 1;
    return last_warp && ready < bit && (ready & bit >> 1U) != 0 ? &lane - 1 : nullptr;
  }
  return nullptr;
}

inline void Block::remove_ready(unsigned warp, unsigned lanes) {
  Warp& state = warps_[warp];
  state.ready &= ~lanes;
  if (state.ready != 0) return;
  state.ready = state.converging;
  state.converging = 0;
  if (state.ready == 0) ready_warps_ &= ~(1U << warp);
}

inline Lane* Block::next_while_blocked(Lane& lane) {
  remove_ready(lane.warp, 1U << lane.lane);
  if (Lane* const beside = choose_neighbour(lane)) [[likely]]
    return beside;
  Lane* const next = choose();
  if (next == nullptr) fail_stuck();
  return next == &lane ? nullptr : next;  // &lane: it was converging and is ready again
}

inline Lane* Block::next_by_schedule(const Lane& lane) {
  Lane* const next = choose();
  return next == &lane ? nullptr : next;
}

inline Lane* Block::next_while_converging(Lane& lane) {
  warp_of(lane).converging |= 1U << lane.lane;
  return next_while_blocked(lane);
}

inline void Block::wake(unsigned warp, unsigned lanes) {
  warps_[warp].ready |= lanes;
  if (lanes != 0) ready_warps_ |= 1U << warp;
}

bool same_location(const Where& a, const Where& b);
// For example "kernel.cuh:12".
std::string place(const Where& where);
std::string file_of(const Where& where);
// For example "0-7, 9".
std::string lane_list(unsigned lanes);

}  // namespace plumbline::emulator
