// The rows of an output that have no reference, looked at by a rough scale (rough_pass.h).
#pragma once

#include <optional>

#include "harness/compare/outputs.h"
#include "harness/outcome/error_statistics.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Sets `elsewhere` of the statistics where the reference takes a sample of the rows. Answers the
// element that is furthest off, of which sigma is a bound.
std::optional<WorstElement> look_elsewhere(const Geometry& geometry, const InputView& inputs,
                                           const OutputView& outputs, const RoundingSpec& spec,
                                           const Reference& reference, ErrorStatistics& statistics);

}  // namespace plumbline
