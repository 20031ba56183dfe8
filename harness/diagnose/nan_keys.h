// Finds out if an output's NaN come from K or V of keys that the rows do not see. Text for reports;
// no verdict depends on it.
#pragma once

#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// Returns "NaN of keys that no row sees reaches the output: V of key 3, head 0, sample 1 is NaN,
// and 0 times NaN is NaN" if hidden keys, padding or the tail of a page have NaN in K or V, and the
// rows with NaN are exactly those that reach such a key; otherwise "". A row reaches the tiles of
// keys in which its tile of queries sees keys, for one of several sizes of tiles. If only V has
// NaN, the output must have NaN in exactly the same columns.
std::string nan_of_hidden_keys(const FailingOutput& failing);

}  // namespace plumbline
