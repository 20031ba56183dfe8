// Serves run requests: calls query, prepare, run (if requested also timed), describe and destroy,
// and places tensors before prepare and the workspace before run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "harness/provider/child/library.h"
#include "harness/provider/child/mapping.h"
#include "harness/provider/child/workspace.h"
#include "harness/provider/messages.h"

namespace plumbline {

// A plan between two calls. Its destructor destroys the plan.
class KeptPlan {
 public:
  virtual ~KeptPlan() = default;
  // Throws Stop.
  virtual void perform_again(const protocol::AgainRequest& request, protocol::RunReply& reply) = 0;
};

// State that a request leaves for the next: closed mappings (most requests need the same pages),
// facts about devices, and the plan if the request keeps it.
struct KeptMemory {
  std::unique_ptr<MappedArena> arena;
  std::unique_ptr<HostWorkspace> workspace;
  std::map<std::int32_t, plumbline_device_facts> device_facts;  // by ordinal
  std::unique_ptr<KeptPlan> plan;                               // uses all members above
  std::string kernel;                                           // name of the plan's kernel
};

// These never throw: errors become the reply's status and reason. (A crash ends the process; see
// crash_report.h.)
protocol::RunReply execute(const ProviderLibrary& library, KeptMemory& kept,
                           protocol::RunRequest request);
// Calls the kept plan again.
protocol::RunReply execute_again(KeptMemory& kept, const protocol::AgainRequest& request);

}  // namespace plumbline
