// Calls into a provider. Whatever the provider does becomes a status and a reason, unless a signal
// ends the process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/provider/plumbline_provider.h"
#include "harness/provider/status.h"

namespace plumbline {

// Ends the current request.
struct Stop {
  Status status;
  std::string reason;
  std::string remedy = {};  // what the user can do; "" if the reason says it
};

using ReasonedCall = std::function<plumbline_status(char* reason, std::size_t reason_bytes)>;

// Makes one call. `phase` ("run") is named in reasons and, if the call dies by a signal, in the
// crash message. Throws Stop unless the call returns PLUMBLINE_OK. Exceptions, invalid statuses and
// unterminated reasons are translated. PLUMBLINE_NO_DEVICE of "query" and "prepare" becomes
// `unsupported` with a reason that begins with "not measured: ".
void call_provider(const char* phase, const ReasonedCall& call);

}  // namespace plumbline
