// What is kept of a measured case beyond its outcome, for comparing two of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/measure/late_crash.h"
#include "harness/outcome/outcome.h"
#include "harness/problem/geometry.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct Measurement {
  Outcome outcome;
  std::shared_ptr<const Geometry> geometry;
  // null unless status is ok and the case itself was measured
  std::shared_ptr<const Reference> reference;
  std::vector<double> rows = {};  // the output at the reference's rows, [R, D]
  bool inputs_changed = false;    // somebody wrote to the inputs; the status is not ok
  std::optional<LateCrash> late = std::nullopt;  // seen before or in this case, of earlier ones
};

}  // namespace plumbline
