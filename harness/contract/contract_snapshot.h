// A snapshot of the contract in force for one outcome, stored to show later what became looser.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/contract/limits.h"
#include "harness/provider/promises.h"

namespace plumbline {

class Contracts;
struct Outcome;

// The pinned spec is stored with the outcome (Outcome::spec_judged).
struct ContractSnapshot {
  Limits limits;                                // for up to 1e7 elements, before they grow
  std::optional<PaddingPolicy> padding_policy;  // absent: not pinned
  Promises promises;
  bool operator==(const ContractSnapshot&) const = default;
};
ContractSnapshot take_snapshot(const Contracts& contracts, const Outcome& outcome);

// Returns the promises other than none: "run_to_run=bitwise, lse=rounding"; "" if there are none.
std::string promises_text(const Promises& promises);
// Parses a text of promises_text().
Promises parse_promises(const std::string& text);

// Returns the terms in which `now` demands less than `before`: "limit of rms 1.8 (was 1.35)".
// `spec_now` and `spec_before` are the pinned specs as in spec_text(); if one is "", specs are not
// compared.
std::vector<std::string> looser_terms(const ContractSnapshot& now, const std::string& spec_now,
                                      const ContractSnapshot& before,
                                      const std::string& spec_before);

}  // namespace plumbline
