// Serves run requests: every call of the C ABI, with tensors, workspace and clocks around them. The
// calls are query, prepare, run, describe, run again where that is asked, and destroy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "harness/provider/child/library.h"
#include "harness/provider/child/mapping.h"
#include "harness/provider/child/workspace.h"
#include "harness/provider/messages.h"

namespace plumbline {

// A plan between two of its calls. It ends with the object.
class KeptPlan {
 public:
  virtual ~KeptPlan() = default;
  // Throws Stop.
  virtual void perform_again(const protocol::AgainRequest& request, protocol::RunReply& reply) = 0;
};

// What a request leaves to the next: mappings, closed (most requests need the pages of the one
// before), what devices are, and the plan where the request says so.
struct KeptMemory {
  std::unique_ptr<MappedArena> arena;
  std::unique_ptr<HostWorkspace> workspace;
  std::map<std::int32_t, plumbline_device_facts> device_facts;  // by ordinal
  std::unique_ptr<KeptPlan> plan;                               // uses all of the above
  std::string kernel;                                           // of the plan
};

// These never throw: what goes wrong is the reply's status and reason. (A crash ends the process;
// see crash_report.h.)
protocol::RunReply execute(const ProviderLibrary& library, KeptMemory& kept,
                           protocol::RunRequest request);
// Another call of the plan that was kept.
protocol::RunReply execute_again(KeptMemory& kept, const protocol::AgainRequest& request);

}  // namespace plumbline
