// The outputs of one kernel run in memory.
#pragma once

#include "harness/problem/geometry.h"
#include "harness/problem/outputs.h"

namespace plumbline {

struct OutputView {
  const void* out = nullptr;
  // Row outputs, for example `lse`; nullptr if not requested or not returned.
#define PLUMBLINE_ROW(name, ...) const void* name = nullptr;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  int lse_base = 0;  // 0 = e, 2
};

// The member of OutputView for each row output.
#define PLUMBLINE_ROW(name, ...) &OutputView::name,
inline constexpr PerRowOutput<const void * OutputView::*> row_output_data{
    {PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

// Returns true if there is a row output besides the LSE.
inline bool has_further_rows(const OutputView& outputs) {
  for (const RowOutput output : further_row_outputs) {
    if (outputs.*row_output_data[output] != nullptr) return true;
  }
  return false;
}

}  // namespace plumbline
