#include "harness/judge/contract.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "harness/judge/spec_fields.h"
#include "harness/problem/suite.h"

namespace plumbline {

const Contract* Contracts::find(std::string_view kernel, std::string_view arch) const {
  const auto matches = [&](const Contract& contract) {
    const auto& [globs, archs] = std::tie(contract.kernels, contract.archs);
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return glob_match(glob, kernel); }) &&
           (archs.empty() || std::find(archs.begin(), archs.end(), arch) != archs.end());
  };
  const auto found = std::find_if(contracts.begin(), contracts.end(), matches);
  return found == contracts.end() ? nullptr : &*found;
}

RoundingSpec Contracts::pinned_spec(std::string_view kernel, const Problem& problem, std::string_view arch) const {
  RoundingSpec spec = strict_spec(problem);
  if (const Contract* contract = find(kernel, arch)) {
    for (const auto& [field, text] : contract->spec_fields) {
      [[maybe_unused]] const auto complaint = set_spec_field(spec, field, text, problem, arch);
      assert(!complaint);  // read() has refused what is not allowed
    }
  }
  return spec;
}

Limits Contracts::limits(std::string_view kernel, const Problem& problem, std::int64_t elements, std::string_view arch) const {
  Limits limits = default_limits(pinned_spec(kernel, problem, arch), problem, elements);
  const Contract* contract = find(kernel, arch);
  if (contract == nullptr) return limits;
  const auto pin = [&](double& limit, std::optional<double> pinned) {
    if (pinned) limit = contract->proof.empty() ? std::min(limit, *pinned) : *pinned;
  };
  const auto grown = [&](std::optional<double> pinned) { return pinned ? std::optional(grown_limit(*pinned, elements)) : std::nullopt; };
  pin(limits.peak, grown(contract->peak));
  pin(limits.beyond_output, grown(contract->beyond_output));
  pin(limits.rms, contract->rms);
  pin(limits.lse, contract->lse);
  return limits;
}

}  // namespace plumbline
