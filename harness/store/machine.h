// Machine classes and series of outcomes. A series is a case on a machine class, with equal
// provider options.
#pragma once

#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Returns the class of the device that the case ran on. A GPU (device "cuda:N") has its own class,
// by model, memory and architecture; other devices have the host's. The class of a GPU that the
// worker could not identify names the host's CPU.
MachineClass class_of(const Outcome& outcome, const MachineClass& host);

// Returns the series of an outcome that ran on this host.
SeriesName series_of(const Outcome& outcome, const MachineClass& host);

// Removes the ordinal of the device: "…/device=cuda:1" becomes "…/device=cuda".
std::string series_id(const std::string& case_id);

// Returns, for example, "cuda sm_90 NVIDIA H100 80GB HBM3".
std::string describe(const MachineClass& machine);

}  // namespace plumbline
