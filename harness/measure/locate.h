// Where a fault sits: diagnosis only, never a verdict.
//
// Each hypothesis is a direction d in the space of errors (a wrong softmax scale moves the output
// along G, a wrong weight of key k along p_k (v_k - o), a wrong denominator along o). With errors
// and directions in units of sigma, the energy a hypothesis explains is z^2 = <e, d>^2 / <d, d>,
// about 1 for a legal kernel; the true cause explains the most. Where a scale or denominator is the
// best and explains less than three quarters, and some heads (or columns, or rows) are right and
// all others wrong, that dimension is named.
#pragma once

#include "harness/measure/statistics.h"
#include "harness/outcome/faults.h"

namespace plumbline {

struct LocateInputs {
  const Geometry* geometry = nullptr;
  InputView inputs;
  const RoundingSpec* spec = nullptr;
  const Reference* reference = nullptr;
  const Comparison* comparison = nullptr;
};
// Looks at no more rows than cost about 2e8 multiply-adds; the rows with the largest errors first.
Location locate(const LocateInputs& inputs);

}  // namespace plumbline
