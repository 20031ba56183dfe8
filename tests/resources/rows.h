// Figures of compiled kernels for the tests that compare them.
#pragma once

#include <string>

#include "harness/resources/compare.h"

namespace plumbline {

inline ApprovedResources approved_row(const std::string& kernel = "prefill<64>",
                                      const std::string& arch = "sm_90") {
  ApprovedResources row;
  row.kernel = kernel;
  row.arch = arch;
  row.registers = 128;
  row.shared_bytes = 40960;
  row.warps = 16;
  return row;
}

// Returns the compiled kernel whose approved_form is approved_row.
inline Resources compiled_row(const std::string& kernel = "prefill<64>",
                              const std::string& arch = "sm_90") {
  Resources row;
  row.usage.kernel = kernel;
  row.usage.arch = arch;
  row.usage.registers = 128;
  row.facts = LaunchFacts{kernel, "", 128, 40960, true, std::nullopt};
  row.occupancy = Occupancy{16, 64, "registers"};
  return row;
}

}  // namespace plumbline
