// Where in a tensor-core kernel a thread is, told from its calls: what a planted bug is bound to.
// The kernels are prefill_mma and decode_mma.
#pragma once

#include <cstdint>

#include "emulator/machine/fault.h"
#include "kernels/attention/instances.h"

namespace plumbline::mutants {

// The tiles of an instance, of one warp.
struct Tiles {
  explicit Tiles(const attention::Instance& instance);
  bool decode;            // decode_mma; otherwise prefill_mma
  bool fp32;              // 32-bit elements: no ldmatrix
  int q_rows;             // of Q in shared memory, before K and V
  int stage_rows;         // of K and V of one stage, all warps
  int stages;             // tiles of K and V at a time
  std::size_t row_bytes;  // in shared memory
  int key_blocks;         // blocks of 8 keys
  int key_steps;          // products that P V of a tile has for one block of columns
  int head_steps;         // likewise Q K^T, over the head dimension
  int column_blocks;      // blocks of 8 columns of V
};

// A thread's progress. Each tile: scores (Q K^T), then values (P V) from the first shuffle on;
// totals once, after the last tile.
enum class Phase : std::uint32_t { scores, values, totals };

class Place {
 public:
  Place(emulator::Notes& notes, const Tiles& of_tiles) : tiles(of_tiles), notes_(notes) {}

  const Tiles& tiles;
  [[nodiscard]] Phase phase() const { return static_cast<Phase>(notes_[phase_at]); }
  [[nodiscard]] bool in_scores() const { return phase() == Phase::scores; }
  [[nodiscard]] bool in_values() const { return phase() == Phase::values; }
  // The shuffles of m come before the first product of P V, those of l after the last.
  [[nodiscard]] bool reduces_maximum() const { return phase() != Phase::totals; }
  [[nodiscard]] int tile() const { return number(tile_at); }
  // The step of the head dimension or of the keys that the product belongs to, and whether it is
  // the last one.
  [[nodiscard]] int step() const;
  [[nodiscard]] bool last_step() const {
    return step() == (in_scores() ? tiles.head_steps : tiles.key_steps) - 1;
  }
  [[nodiscard]] bool loads_query() const;  // ldmatrix: of Q; otherwise of K or V
  // __syncthreads before this one
  [[nodiscard]] int barriers() const { return number(barriers_at); }
  [[nodiscard]] int groups() const {
    return number(groups_at);
  }  // cp.async groups committed so far
  static unsigned lane();
  // Four words for the fault.
  std::uint32_t* kept() { return &notes_[kept_at]; }

  // What has happened: before a call (shuffle, wait) or after it.
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
