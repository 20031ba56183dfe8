// Copies outputs out of the arena.
#include "harness/measure/call_outputs.h"

namespace plumbline {
namespace {

std::vector<std::byte> copy_of(const Arena& arena, int slot) {
  if (slot < 0) return {};
  const auto index = static_cast<std::size_t>(slot);
  const auto* data = static_cast<const std::byte*>(arena.data(index));
  return {data, data + arena.slot(index).bytes};
}

}  // namespace

OutputView view_of(const Arena& arena, const RunRequest& request, int lse_base) {
  const auto data = [&](int slot) {
    return slot < 0 ? nullptr : arena.data(static_cast<std::size_t>(slot));
  };
  OutputView view{.out = data(request.out), .lse_base = lse_base};
  for (const RowOutput output : all<RowOutput>())
    view.*row_output_data[output] = data(request.slot_of(output));
  return view;
}

CallOutputs::CallOutputs(const Arena& arena, const RunRequest& request)
    : out(copy_of(arena, request.out)) {
  for (const RowOutput output : all<RowOutput>())
    rows[output] = copy_of(arena, request.slot_of(output));
}

OutputView CallOutputs::view(int lse_base) const {
  OutputView view{.out = out.data(), .lse_base = lse_base};
  for (const RowOutput output : all<RowOutput>()) {
    if (!rows[output].empty()) view.*row_output_data[output] = rows[output].data();
  }
  return view;
}

}  // namespace plumbline
