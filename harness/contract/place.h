// Where a case ran: what contracts and the support table may be bound to.
#pragma once

#include <string>

namespace plumbline {

struct Outcome;

struct Place {
  // "cpu", "cuda:0", "emulated:sm_90"; "" = not said: nothing that is bound to a device holds
  std::string device;
  // "sm_90"; "" = a CPU, or not known: nothing that is bound to an architecture holds
  std::string arch;
};
Place place_of(const Outcome& outcome);

}  // namespace plumbline
