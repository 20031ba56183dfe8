// Serves one run request: query, prepare, run, describe, destroy, with tensors, workspace and clocks around them.
#pragma once

#include <memory>

#include "harness/provider/protocol.h"
#include "harness/provider/worker/library.h"
#include "harness/provider/worker/mapping.h"
#include "harness/provider/worker/workspace.h"

namespace plumbline {

// Mappings that a request leaves, closed, to the next: most requests need the pages of the one before.
struct KeptMemory {
  std::unique_ptr<MappedArena> arena;
  std::unique_ptr<HostWorkspace> workspace;
};

// Never throws: what goes wrong is the reply's status and reason. (A crash ends the process; see crash_report.h.)
protocol::RunReply execute(const ProviderLibrary& library, KeptMemory& kept, const protocol::RunRequest& request);

}  // namespace plumbline
