// Labels the visible keys of a row, and its sink, by their cells.
#include "harness/reference/row_cells.h"

namespace plumbline {

// Groups the visible keys by label(key). If `of_sink` is set, also groups the sink by this label.
template <class Label>
void RowCells::build(const RowBlock& block, std::int64_t row, KeepCells keep, Cells& cells,
                     Label label, std::optional<std::uint64_t> of_sink) {
  const auto [begin, end] = block.keys_of(row);
  if (block.seen.empty()) {
    labels_.resize(static_cast<std::size_t>(end - begin));
    std::uint64_t* labels = labels_.data() - begin;
    for (std::int64_t k = begin; k < end; ++k) labels[k] = label(k);
    if (!of_sink) return builder_.build(labels_, begin, keep, cells);
  } else {
    labels_.clear();
    block.for_seen(row, [&](std::int64_t k) { labels_.push_back(label(k)); });
  }
  const std::size_t keys = labels_.size();
  if (of_sink) labels_.push_back(*of_sink);
  builder_.build(labels_, 0, keep, cells);
  for (std::int32_t& key : cells.keys) {
    const auto at = static_cast<std::size_t>(key);
    if (at == keys) {
      key = static_cast<std::int32_t>(block.sink_key());
    } else {
      key = block.seen.empty() ? key + static_cast<std::int32_t>(begin)
                               : block.seen[static_cast<std::size_t>(row)][at];
    }
  }
}

void RowCells::find(const Model& model, const RowBlock& block, std::int64_t row, Cells& cells) {
  const double* p = block.p_of(row);
  const double l = block.total.data()[row],
               total = model.p_divided ? 1 : l;  // p * total is the P that is rounded
  const auto build_by = [&](auto label) { build(block, row, KeepCells::multi_key, cells, label); };
  if (model.u_s > 0) {
    // Keys with equal rounded logits have equal t, so rounding P gives them equal errors.
    const double *held = block.held_of(row), m = block.held_max.data()[row];
    build_by([&](std::int64_t k) { return p_cell(std::exp(held[k] - m) * (total / l), model); });
  } else if (model.eta_p > 0) {
    build_by([&](std::int64_t k) { return p_cell(p[k] * total, model); });
  } else {
    const int dropped = 53 - model.p_cell_bits;
    build_by([=](std::int64_t k) { return normal_p_cell(p[k] * total, dropped); });
  }
}

void RowCells::find(SharedRounding rounding, const Model& model, const RowBlock& block,
                    std::int64_t row, const Sink* sink, Cells& cells) {
  const auto build_by = [&](const double* x, const Sink* with, auto label) {
    build(
        block, row, KeepCells::all, cells, [&](std::int64_t k) { return label(x[k]); },
        with != nullptr ? std::optional(label(with->s)) : std::nullopt);
  };
  const double cap = block.cap(), m = block.row_max.data()[row];
  switch (rounding) {
    case SharedRounding::s:
      return build_by(block.unrounded.data() + row * block.stride, sink,
                      [&](double y) { return s_cell(y, model); });
    case SharedRounding::exp2:
      return build_by(block.s_of(row), sink, [=](double s) { return exp2_phase(s - m); });
    case SharedRounding::tanh:
      return build_by(block.x.data() + row * block.stride, nullptr,
                      [=](double x) { return tanh_cell(x / cap); });
  }
}

void RowCells::find_exp2_steps(const RowBlock& block, std::int64_t row, const Sink* sink,
                               Cells& cells) {
  const double* s = block.s_of(row);
  const double m = block.row_max.data()[row];
  build(
      block, row, KeepCells::all, cells, [=](std::int64_t k) { return exp2_step(s[k] - m); },
      sink != nullptr ? std::optional(exp2_step(sink->s - m)) : std::nullopt);
}

}  // namespace plumbline
