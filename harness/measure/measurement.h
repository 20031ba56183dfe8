// A measured case: its outcome, and what is needed to compare it with another one.
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
  // null unless status is ok and the case was measured, not reused
  std::shared_ptr<const Reference> reference;
  std::vector<double> rows = {};  // the output at the reference's rows, [R, D]
  bool cause_explains = false;    // outcome.cause explains the output of the first call
  bool inputs_changed = false;    // the inputs were overwritten; the status is not ok
  // A crash caused by earlier cases, seen before this case or in it.
  std::optional<LateCrash> late = std::nullopt;
};

}  // namespace plumbline
