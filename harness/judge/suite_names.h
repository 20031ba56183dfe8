// What the statistics over a suite share: the name of a kernel there, and why one is not judged.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

inline constexpr std::string_view partial_suite = "not judged: partial suite";
inline constexpr std::string_view too_few_cases = "not judged: too few cases";

// The same cases on two architectures share most of their errors: they are two sums, or two
// architectures would double each z. As in a case id, the device is named where it is not the CPU.
inline std::string kernel_on_device(const Case& c) {
  return c.device == "cpu" ? c.kernel : fmt::format("{}/device={}", c.kernel, c.device);
}

}  // namespace plumbline
