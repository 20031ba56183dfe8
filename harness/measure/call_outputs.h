// The outputs of a call, in the arena or copied out of it.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// Returns a view of the outputs whose slots the request names.
OutputView view_of(const Arena& arena, const RunRequest& request, int lse_base);

struct CallOutputs {
  CallOutputs() = default;
  CallOutputs(const Arena& arena, const RunRequest& request);
  OutputView view(int lse_base) const;

  std::vector<std::byte> out;
  PerRowOutput<std::vector<std::byte>> rows;  // empty if not returned
};

}  // namespace plumbline
