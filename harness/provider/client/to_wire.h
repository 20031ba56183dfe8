// Converts a run request into the structs of the worker protocol.
#pragma once

#include <vector>

#include "harness/provider/client/arena.h"
#include "harness/provider/client/worker.h"
#include "harness/provider/messages.h"

namespace plumbline {

plumbline_problem problem_to_wire(const Geometry& geometry);
// Returns the tensors that the request has.
std::vector<protocol::Tensor> tensors_to_wire(const RunRequest& request, const Arena& arena);

}  // namespace plumbline
