// Checks output rows that have no reference, by a coarser error scale (rough_pass.h).
#pragma once

#include <optional>

#include "harness/compare/outputs.h"
#include "harness/outcome/error_statistics.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Sets `elsewhere` of the statistics if the reference samples rows. Returns the element with the
// largest error, whose sigma is an upper bound; nullopt if no row was checked.
std::optional<WorstElement> check_unreferenced_rows(
    const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
    const RoundingSpec& spec, const Reference& reference, ErrorStatistics& statistics);

}  // namespace plumbline
