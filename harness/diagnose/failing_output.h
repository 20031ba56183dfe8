// An output beyond its limits, with everything that it was judged by. Nothing is owned.
#pragma once

#include <functional>

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
  const Comparison* comparison = nullptr;  // outputs compared with reference
  Limits limits;
  const Faults* faults = nullptr;
  const Location* location = nullptr;
  bool keys_stated = false;  // a mask tensor states which keys are visible, not only the problem
  // Returns true once the time for the search is over. A search then ends without a sentence.
  std::function<bool()> late = [] { return false; };
};

// Returns indices of the reference's rows, ascending and unique: the `worst` rows with the largest
// squared error and as many evenly spaced ones, all with visible keys. Returns fewer if they would
// cost more than `cost_limit` multiply-adds, but at least one.
std::vector<std::size_t> informative_rows(const FailingOutput& failing, std::size_t worst,
                                          double cost_limit);
// Returns the sum of (e / sigma)^2 over a row of the reference, without elements that are not
// finite.
double squared_error(const FailingOutput& failing, std::size_t row);

}  // namespace plumbline
