// The compiled instances (CMakeLists.txt).
#include <algorithm>
#include <array>

#include "flashinfer_instances.h"
#include "kernels/compiled/flashinfer/launch.h"

namespace plumbline::flashinfer_kernels {

#define PLUMBLINE_DECLARE(name) Launcher name();
PLUMBLINE_FLASHINFER_INSTANCES(PLUMBLINE_DECLARE)
#define PLUMBLINE_CALL(name) name(),

const Launcher* find_launcher(const Instance& instance) {
  static const auto all = std::to_array<Launcher>({PLUMBLINE_FLASHINFER_INSTANCES(PLUMBLINE_CALL)});
  const auto* const found = std::find_if(
      all.begin(), all.end(), [&](const Launcher& one) { return one.instance == instance; });
  return found == all.end() ? nullptr : found;
}

}  // namespace plumbline::flashinfer_kernels
