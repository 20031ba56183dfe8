// Parses device names (cpu, cuda:0, emulated:sm_90) for the protocol.
#pragma once

#include <string_view>

#include "harness/base/error.h"
#include "harness/provider/messages.h"

namespace plumbline {

// Accepts "cpu", "cuda:0" (any ordinal; the provider determines the arch) and "emulated:sm_90" (any
// architecture of at most 22 characters).
Result<protocol::Device> parse_device(std::string_view name);

}  // namespace plumbline
