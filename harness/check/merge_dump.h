// Dumps of merges: partial_out and partial_lse of a token's parts, and the merged state
// (docs/dump-format.md).
#pragma once

#include <map>
#include <string>

#include "harness/check/dump.h"

namespace plumbline {

// Returns true if partial_out or partial_lse is one of the tensors.
bool is_merge_dump(const std::map<std::string, TensorData>& tensors);

// Makes a dump of such tensors, like make_dump.
Result<Dump> make_merge_dump(const std::string& name,
                             const std::map<std::string, TensorData>& tensors,
                             const Attributes& stated);

}  // namespace plumbline
