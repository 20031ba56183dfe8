// Reuses an outcome once a second architecture has given the same digest; a different digest is an
// error.
#include "harness/measure/reuse.h"

#include <fmt/format.h>

#include "harness/contract/contract.h"

namespace plumbline {
namespace {

bool may_share(const PlannedCase& planned) {
  return planned.tensor_cores == "off" && !planned.timed &&
         planned.c.device.starts_with("emulated:");
}

// Returns true if the output is complete and the later calls gave the same bits.
bool has_bits(const Outcome& outcome) {
  return outcome.status == Status::ok && !outcome.output_digest.empty() && outcome.repeat_checked &&
         outcome.repeat_equal;
}

}  // namespace

void copy_identity(const PlannedCase& planned, Outcome& outcome) {
  outcome.suite = planned.suite;
  outcome.group = planned.group;
  outcome.tier = name(planned.tier);
  outcome.c = planned.c;
  outcome.case_id = planned.case_id;
  outcome.expected = planned.expected;
}

std::optional<Outcome> ArchReuse::reused(const PlannedCase& planned) const {
  const auto known = kernels_.find(planned.c.kernel);
  if (!may_share(planned) || known == kernels_.end() || !known->second.confirmed)
    return std::nullopt;
  const Outcome& first = known->second.first;
  Outcome outcome = first;
  copy_identity(planned, outcome);
  outcome.reused_from = first.case_id;
  if (!outcome.description.device_arch.empty()) outcome.description.device_arch = arch_of(outcome);
  outcome.peak_memory_bytes = -1;
  outcome.wall_ms = 0;
  outcome.saved_to.clear();
  // The statistics are in the first case's sigma, so both cases need the same contract.
  const RunTarget place = target_of(outcome), first_place = target_of(first);
  const bool same_contract =
      contracts_.find(planned.c.kernel, place, planned.c.problem.dtype) ==
          contracts_.find(planned.c.kernel, first_place, planned.c.problem.dtype) &&
      spec_text(contracts_.pinned_spec(planned.c.kernel, planned.c.problem, place)) ==
          first.spec_judged;
  if (!same_contract) return std::nullopt;
  return outcome;
}

void ArchReuse::add(const PlannedCase& planned, Outcome& outcome) {
  if (!may_share(planned) || !has_bits(outcome) || outcome.description.tensor_cores != "off")
    return;
  const auto [known, is_first] = kernels_.try_emplace(planned.c.kernel, Known{outcome, false});
  if (is_first) return;
  const Outcome& first = known->second.first;
  if (first.c.device == outcome.c.device) return;  // the same case in another suite
  if (first.output_digest == outcome.output_digest) {
    known->second.confirmed = true;
    return;
  }
  outcome.status = Status::error;
  outcome.reason = fmt::format(
      "gives other bits on {} than on {}, and a kernel without tensor cores must not: output "
      "digest {} against {}; the other case is {}",
      outcome.c.device, first.c.device, outcome.output_digest, first.output_digest, first.case_id);
}

}  // namespace plumbline
