// The device and architecture of a case, to which contracts and support entries may be bound.
#pragma once

#include <string>

namespace plumbline {

struct Outcome;

struct RunTarget {
  // "cpu", "cuda:0", "emulated:sm_90"; "" = unknown: matches no entry bound to devices except "*"
  std::string device;
  // "sm_90"; "" = a CPU, or unknown: matches no entry that is bound to an architecture
  std::string arch;
};
RunTarget target_of(const Outcome& outcome);

}  // namespace plumbline
