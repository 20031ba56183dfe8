// Finds the keys of a block's row that share a cell.
#pragma once

#include <optional>

#include "harness/reference/cells.h"
#include "harness/reference/exact_scales.h"

namespace plumbline {

// Keeps its tables between rows.
class RowCells {
 public:
  // Finds the cells of P with at least two keys.
  void find(const Model& model, const RowBlock& block, std::int64_t row, Cells& cells);
  // Finds all cells of a shared rounding. A sink has the key block.sink_key().
  void find(SharedRounding rounding, const Model& model, const RowBlock& block, std::int64_t row,
            const Sink* sink, Cells& cells);
  // Finds all cells of exp2_step().
  void find_exp2_steps(const RowBlock& block, std::int64_t row, const Sink* sink, Cells& cells);

 private:
  template <class Label>
  void build(const RowBlock& block, std::int64_t row, KeepCells keep, Cells& cells, Label label,
             std::optional<std::uint64_t> of_sink = std::nullopt);

  CellBuilder builder_;
  std::vector<std::uint64_t> labels_;  // [N]
};

}  // namespace plumbline
