// The position of a thread in a tensor-core kernel (prefill_mma or decode_mma), derived from its
// calls. Planted bugs depend on it.
#pragma once

#include <cstdint>

#include "emulator/machine/fault.h"
#include "kernels/attention/instances.h"

namespace plumbline::mutants {

// The tiles of one warp of a kernel instance.
struct Tiles {
  explicit Tiles(const attention::Instance& instance);
  bool decode;            // decode_mma; otherwise prefill_mma
  bool fp32;              // 32-bit elements: no ldmatrix
  int q_rows;             // rows of Q in shared memory, before K and V
  int stage_rows;         // rows of K and V in one stage, for all warps
  int stages;             // tiles of K and V that shared memory holds at a time
  std::size_t row_bytes;  // in shared memory
  int key_blocks;         // blocks of 8 keys
  int key_steps;          // products of P V for one column block of a tile
  int head_steps;         // products of Q K^T, over the head dimension
  int column_blocks;      // blocks of 8 columns of V
};

// A thread's progress. Each tile has scores (Q K^T), then values (P V) from the first shuffle on.
// totals comes once, after the last tile.
enum class Phase : std::uint32_t { scores, values, totals };

class ThreadPosition {
 public:
  ThreadPosition(emulator::Notes& notes, const Tiles& of_tiles) : tiles(of_tiles), notes_(notes) {}

  const Tiles& tiles;
  [[nodiscard]] Phase phase() const { return static_cast<Phase>(notes_[phase_at]); }
  [[nodiscard]] bool in_scores() const { return phase() == Phase::scores; }
  [[nodiscard]] bool in_values() const { return phase() == Phase::values; }
  // Returns true in the shuffles of m, before the first product of P V. The shuffles of l come
  // after the last product.
  [[nodiscard]] bool reduces_maximum() const { return phase() != Phase::totals; }
  [[nodiscard]] int tile() const { return number(tile_at); }
  // The product's step over the head dimension or the keys; last_step(): true in the last one.
  [[nodiscard]] int step() const;
  [[nodiscard]] bool last_step() const {
    return step() == (in_scores() ? tiles.head_steps : tiles.key_steps) - 1;
  }
  [[nodiscard]] bool loads_query() const;  // true if ldmatrix loads Q, not K or V
  // number of __syncthreads so far
  [[nodiscard]] int barriers() const { return number(barriers_at); }
  [[nodiscard]] int groups() const {
    return number(groups_at);
  }  // number of cp.async groups committed so far
  static unsigned lane();
  // Returns four words of the thread's notes, for the fault's own state.
  std::uint32_t* kept() { return &notes_[kept_at]; }

  // Records an event: shuffles() and waits() before the call, the others after it.
  void shuffles();
  void waits();
  void loaded() { ++notes_[loads_at]; }
  void multiplied() { ++notes_[products_at]; }
  void synchronised() { ++notes_[barriers_at]; }
  void committed() { ++notes_[groups_at]; }

 private:
  enum Word : std::size_t {
    phase_at,
    products_at,
    loads_at,
    tile_at,
    barriers_at,
    groups_at,
    kept_at
  };
  [[nodiscard]] int number(Word at) const { return static_cast<int>(notes_[at]); }
  void begin(Phase phase);
  emulator::Notes& notes_;
};

}  // namespace plumbline::mutants
