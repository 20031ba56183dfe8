// Lets cases of kernels without tensor cores share one outcome over the emulated architectures.
// Such a kernel gives the same bits on each: of one problem the first architecture is measured, the
// second is measured and must give the same digest, and all others take the first outcome over.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/outcome/outcome.h"
#include "harness/suite/plan.h"

namespace plumbline {

class Contracts;

// Takes suite, case and what is expected of it over into an outcome.
void name_after(const PlannedCase& planned, Outcome& outcome);

// For the cases of one problem, in the order in which they are measured. Timed cases, kernels that
// use tensor cores or say nothing, and devices that are no emulated architecture are left alone; so
// is a case that another contract holds for.
class ArchReuse {
 public:
  explicit ArchReuse(const Contracts& contracts) : contracts_(contracts) {}

  // The outcome of a case that need not be measured: that of another architecture under this case's
  // own identity, untimed, with reused_from. nullopt: it has to be measured.
  std::optional<Outcome> reused(const PlannedCase& planned) const;

  // Takes note of a case that was measured. Where its bits are not those of the first architecture,
  // it becomes an error that names both.
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
