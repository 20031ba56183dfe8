// An output that is beyond its limits, with all that it was judged by. Nothing is owned.
#pragma once

#include "harness/compare/outputs.h"
#include "harness/compare/statistics.h"
#include "harness/contract/limits.h"
#include "harness/outcome/faults.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct FailingOutput {
  const Geometry* geometry = nullptr;
  InputView inputs;
  OutputView outputs;
  const RoundingSpec* spec = nullptr;
  const Reference* reference = nullptr;
  const Comparison* comparison = nullptr;  // of outputs with reference
  Limits limits;
  const Faults* faults = nullptr;
  const Location* location = nullptr;
  bool keys_stated = false;  // a mask tensor says which keys are visible, not only the problem
};

// Rows of the reference: `worst` with the largest squared error and as many evenly spaced ones, all
// with visible keys; ascending indices, none twice. Fewer where they would cost more than
// `cost_limit` multiply-adds, but one at least.
std::vector<std::size_t> telling_rows(const FailingOutput& failing, std::size_t worst,
                                      double cost_limit);
// Sum of (e / sigma)^2 over a row of the reference; elements that are not finite are left out.
double squared_error(const FailingOutput& failing, std::size_t row);

}  // namespace plumbline
