// Serves one run request: every call of the C ABI, with tensors, workspace and clocks around them.
// The calls are query, prepare, run, describe and destroy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "harness/provider/child/library.h"
#include "harness/provider/child/mapping.h"
#include "harness/provider/child/workspace.h"
#include "harness/provider/messages.h"

namespace plumbline {

// What a request leaves to the next: mappings, closed (most requests need the pages of the one
// before), and what devices are.
struct KeptMemory {
  std::unique_ptr<MappedArena> arena;
  std::unique_ptr<HostWorkspace> workspace;
  std::map<std::int32_t, plumbline_device_facts> device_facts;  // by ordinal
};

// Never throws: what goes wrong is the reply's status and reason. (A crash ends the process; see
// crash_report.h.)
protocol::RunReply execute(const ProviderLibrary& library, KeptMemory& kept,
                           const protocol::RunRequest& request);

}  // namespace plumbline
