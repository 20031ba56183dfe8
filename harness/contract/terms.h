// The terms that a contract held one outcome to, stored with it to tell later what became looser.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/contract/limits.h"
#include "harness/provider/promises.h"

namespace plumbline {

class Contracts;
struct Outcome;

// The pinned spec stands with the outcome itself (Outcome::spec_judged).
struct Terms {
  Limits limits;                                // up to 1e7 elements, before they grow
  std::optional<PaddingPolicy> padding_policy;  // absent: not pinned
  Promises promises;
  bool operator==(const Terms&) const = default;
};
Terms terms_of(const Contracts& contracts, const Outcome& outcome);

// "run_to_run=bitwise, lse=rounding": the promises that promise something; "" for none.
std::string promises_text(const Promises& promises);
// Of a text that promises_text() gave.
Promises parse_promises(const std::string& text);

// In what `now` asks less of a kernel than `before`, in words: "rms 1.8 (was 1.35)"; empty: in
// nothing. `spec_now` and `spec_before` are the pinned specs as spec_text() has them; where one of
// them is "", specs are not compared.
std::vector<std::string> looser_terms(const Terms& now, const std::string& spec_now,
                                      const Terms& before, const std::string& spec_before);

}  // namespace plumbline
