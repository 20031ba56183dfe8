// Shares one outcome between the emulated architectures, for kernels without tensor cores. Such a
// kernel gives the same bits on each. The first two architectures are measured and must give the
// same digest; the others reuse the first outcome.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/outcome/outcome.h"
#include "harness/suite/plan.h"

namespace plumbline {

class Contracts;

// Copies suite, case and expected failure into an outcome.
void copy_identity(const PlannedCase& planned, Outcome& outcome);

// Reuses outcomes among the cases of one problem, in the order in which they are measured. Timed
// cases, kernels that do not declare tensor cores "off", devices that are not emulated, and cases
// whose contract differs from the first outcome's are always measured.
class ArchReuse {
 public:
  explicit ArchReuse(const Contracts& contracts) : contracts_(contracts) {}

  // Returns the outcome of a case that need not be measured: a copy of another architecture's, with
  // this case's identity and reused_from. nullopt: the case must be measured.
  std::optional<Outcome> reused(const PlannedCase& planned) const;

  // Records a measured case. If its bits differ from the first architecture's, the outcome becomes
  // an error that names both.
  void add(const PlannedCase& planned, Outcome& outcome);

 private:
  struct Known {
    Outcome first;
    bool confirmed = false;  // by a second architecture
  };
  const Contracts& contracts_;
  std::map<std::string, Known> kernels_;
};

}  // namespace plumbline
