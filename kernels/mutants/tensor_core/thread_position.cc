// Counts a thread's calls to find its phase, tile and step in the kernel.
#include "kernels/mutants/tensor_core/thread_position.h"

#include <string_view>

namespace plumbline::mutants {

Tiles::Tiles(const attention::Instance& instance)
    : decode(std::string_view(instance.kernel) == "decode_mma"),
      fp32(instance.dtype == PLUMBLINE_F32),
      q_rows(instance.tile_q),
      stage_rows(2 * instance.tile_kv),
      stages(instance.stages),
      row_bytes(fp32 ? static_cast<std::size_t>(instance.head_dim) * 4 + 16
                     : static_cast<std::size_t>(instance.head_dim) * 2) {
  const int keys = decode ? 16 : instance.tile_kv, depth = fp32 ? 8 : 16;
  key_blocks = keys / 8;
  key_steps = keys / depth;
  head_steps = instance.head_dim / depth;
  column_blocks = instance.head_dim / 8;
}

// In P V, prefill_mma loops over the steps for each pair of column blocks. decode_mma loops over
// the column blocks for each step.
int ThreadPosition::step() const {
  const int product = number(products_at);
  if (in_scores()) return product / tiles.key_blocks;
  return tiles.decode ? product / tiles.column_blocks : product / 2 % tiles.key_steps;
}

// Each step of Q K^T loads Q once, then pairs of blocks of K.
bool ThreadPosition::loads_query() const {
  return in_scores() && number(loads_at) % (1 + tiles.key_blocks / 2) == 0;
}

unsigned ThreadPosition::lane() { return emulator::current->index.x % 32; }

void ThreadPosition::shuffles() {
  if (phase() == Phase::scores) {
    begin(Phase::values);
  } else if (notes_[products_at] > 0) {
    begin(Phase::totals);
  }
}

// P V waits for its V before its first product. Any later wait belongs to the next tile.
void ThreadPosition::waits() {
  if (!in_values() || notes_[products_at] == 0) return;
  begin(Phase::scores);
  ++notes_[tile_at];
}

void ThreadPosition::begin(Phase phase) {
  notes_[phase_at] = static_cast<std::uint32_t>(phase);
  notes_[products_at] = notes_[loads_at] = 0;
}

}  // namespace plumbline::mutants
