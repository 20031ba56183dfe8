// The device and architecture of a case, to which contracts and support entries may be bound.
#pragma once

#include <string>

namespace plumbline {

struct Outcome;

struct Place {
  // "cpu", "cuda:0", "emulated:sm_90"; "" = unknown: matches no entry that is bound to a device
  std::string device;
  // "sm_90"; "" = a CPU, or unknown: matches no entry that is bound to an architecture
  std::string arch;
};
Place place_of(const Outcome& outcome);

}  // namespace plumbline
