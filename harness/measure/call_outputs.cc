// Copies outputs out of the arena.
#include "harness/measure/call_outputs.h"

namespace plumbline {

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
    : out(arena.contents(request.out)) {
  for (const RowOutput output : all<RowOutput>())
    rows[output] = arena.contents(request.slot_of(output));
}

OutputView CallOutputs::view(int lse_base) const {
  OutputView view{.out = out.data(), .lse_base = lse_base};
  for (const RowOutput output : all<RowOutput>()) {
    if (!rows[output].empty()) view.*row_output_data[output] = rows[output].data();
  }
  return view;
}

}  // namespace plumbline
