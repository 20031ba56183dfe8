// Device names as users spell them (cpu, cuda:0, emulated:sm_90), parsed for the protocol.
#pragma once

#include <string_view>

#include "harness/base/error.h"
#include "harness/provider/messages.h"

namespace plumbline {

// "cpu", "cuda:0" (any ordinal; the arch is left to the provider) or "emulated:sm_90" (any
// architecture of at most 22 characters).
Result<protocol::Device> parse_device(std::string_view name);

}  // namespace plumbline
