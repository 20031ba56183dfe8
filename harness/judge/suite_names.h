// Names that the suite statistics share: a kernel on a device, and reasons not to judge.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

inline constexpr std::string_view partial_suite = "not judged: partial suite";
inline constexpr std::string_view too_few_cases = "not judged: too few cases";

// Returns the kernel's name, with its device unless that is the CPU, as in a case id. Each device
// has sums of its own: two architectures share most errors of a case, so a common sum would count
// these errors twice.
inline std::string kernel_on_device(const Case& c) {
  return c.device == "cpu" ? c.kernel : fmt::format("{}/device={}", c.kernel, c.device);
}

}  // namespace plumbline
