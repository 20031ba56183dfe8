// Finds the contract of a kernel on a device, and derives the spec and limits from it.
#include "harness/contract/contract.h"

#include <algorithm>
#include <cassert>

#include "harness/base/glob.h"
#include "harness/contract/reviewed_file.h"
#include "harness/contract/spec_fields.h"
#include "harness/problem/problem.h"

namespace plumbline {

const Contract* Contracts::find(std::string_view kernel, const RunTarget& place,
                                DType dtype) const {
  const auto matches = [&](const Contract& contract) {
    const auto& dtypes = contract.dtypes;
    const bool of_dtype = dtypes.empty() || dtype == DType::none ||
                          std::ranges::find(dtypes, name(dtype)) != dtypes.end();
    return of_dtype && applies_to(contract.devices, contract.archs, place) &&
           std::any_of(contract.kernels.begin(), contract.kernels.end(),
                       [&](const auto& glob) { return glob_match(glob, kernel); });
  };
  const auto found = std::find_if(contracts.begin(), contracts.end(), matches);
  return found == contracts.end() ? nullptr : &*found;
}

RoundingSpec Contracts::pinned_spec(std::string_view kernel, const Problem& problem,
                                    const RunTarget& place) const {
  RoundingSpec spec = strict_spec(problem, place.arch);
  if (const Contract* contract = find(kernel, place, problem.dtype)) {
    for (const auto& [field, text] : contract->spec_fields) {
      [[maybe_unused]] const auto complaint =
          set_spec_field(spec, field, text, problem, place.arch);
      assert(!complaint);  // read() rejects texts that are not allowed
    }
  }
  return spec;
}

Limits Contracts::limits(std::string_view kernel, const Problem& problem, std::int64_t elements,
                         const RunTarget& place) const {
  Limits limits = default_limits(pinned_spec(kernel, problem, place), problem, elements);
  const Contract* contract = find(kernel, place, problem.dtype);
  if (contract == nullptr) return limits;
  for (const Statistic& statistic : deciding_statistics) {
    const std::optional<double> pinned = contract->limits[statistic];
    if (!pinned) continue;
    const double grown = statistic.limit_grows ? grown_limit(*pinned, elements) : *pinned;
    double& limit = limits.*statistic.limit;
    limit = contract->proof.empty() ? std::min(limit, grown) : grown;
  }
  return limits;
}

}  // namespace plumbline
