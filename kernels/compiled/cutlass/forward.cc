// The dispatch over the compiled instances (CMakeLists.txt).
#include "kernels/compiled/cutlass/forward.h"

#include <algorithm>
#include <iterator>

#include "cutlass_instances.h"

namespace plumbline::cutlass_attention {

// Defined in the generated device sources.
#define PLUMBLINE_DECLARE(element, dim) const char* forward_##element##_##dim(const Call&, void*);
PLUMBLINE_CUTLASS_INSTANCES(PLUMBLINE_DECLARE)

namespace {

struct Launcher {
  Instance instance;
  const char* (*launch)(const Call&, void*);
};
#define PLUMBLINE_LAUNCHER(element, dim) {{Element::element, dim}, forward_##element##_##dim},
constexpr Launcher launchers[] = {PLUMBLINE_CUTLASS_INSTANCES(PLUMBLINE_LAUNCHER)};

const Launcher* launcher_of(const Instance& instance) {
  const auto* const found =
      std::find_if(std::begin(launchers), std::end(launchers),
                   [&](const Launcher& one) { return one.instance == instance; });
  return found == std::end(launchers) ? nullptr : found;
}

}  // namespace

bool is_compiled(const Instance& instance) { return launcher_of(instance) != nullptr; }

Instance instance_of(const Call& call) {
  const int dim = std::max(call.head_dim_qk, call.head_dim_vo);
  return {call.element, dim <= 64 ? 64 : dim <= 128 ? 128 : 0};
}

const char* forward(const Call& call, void* stream) {
  return launcher_of(instance_of(call))->launch(call, stream);
}

}  // namespace plumbline::cutlass_attention
