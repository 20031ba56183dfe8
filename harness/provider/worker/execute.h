// Serves one run request: query, prepare, run, describe, destroy, with tensors, workspace and clocks around them.
#pragma once

#include "harness/provider/protocol.h"
#include "harness/provider/worker/library.h"

namespace plumbline {

// Never throws: what goes wrong is the reply's status and reason. (A crash ends the process; see crash_report.h.)
protocol::RunReply execute(const ProviderLibrary& library, const protocol::RunRequest& request);

}  // namespace plumbline
