// Which series an outcome belongs to: a case on a machine class, by a provider with the same
// options.
#pragma once

#include <string>

#include "harness/store/store.h"

namespace plumbline {

// The class of what the case ran on: the host's own, but for a GPU (device "cuda:N"), which is a
// class of its own by its model, memory and architecture. Where the worker does not tell what GPU
// it was, the class says beside which CPU that GPU stands.
MachineClass class_of(const Outcome& outcome, const MachineClass& host);

// The series of an outcome of a run on this host.
SeriesName series_of(const Outcome& outcome, const MachineClass& host);

// The case id without the ordinal of its device: "…/device=cuda:1" becomes "…/device=cuda".
std::string series_id(const std::string& case_id);

// In words: "cuda sm_90 NVIDIA H100 80GB HBM3".
std::string describe(const MachineClass& machine);

}  // namespace plumbline
