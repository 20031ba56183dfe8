// Which keys of a row of a block share a cell.
#pragma once

#include <optional>

#include "harness/reference/cells.h"
#include "harness/reference/exact_scales.h"

namespace plumbline {

// Holds its tables between rows.
class RowCells {
 public:
  // Of P: the cells of two keys and more.
  void find(const Model& model, const RowBlock& block, std::int64_t row, Cells& cells);
  // Of a shared rounding, all cells. With a sink, its key there is block.sink_key().
  void find(SharedRounding rounding, const Model& model, const RowBlock& block, std::int64_t row,
            const Sink* sink, Cells& cells);

 private:
  template <class Label>
  void build(const RowBlock& block, std::int64_t row, KeepCells keep, Cells& cells, Label label,
             std::optional<std::uint64_t> of_sink = std::nullopt);

  CellBuilder builder_;
  std::vector<std::uint64_t> labels_;  // [N]
};

}  // namespace plumbline
