// Derives an outcome's machine class, and its series without the GPU ordinal.
#include "harness/store/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr std::string_view cuda = "cuda";

std::int64_t whole_gib(std::int64_t bytes) { return (bytes + (std::int64_t{1} << 29)) >> 30 << 30; }

}  // namespace

MachineClass class_of(const Outcome& outcome, const MachineClass& host) {
  // emulated devices run on the host
  if (!outcome.c.device.starts_with(cuda)) return host;
  MachineClass machine{std::string(cuda), arch_of(outcome), outcome.device.model,
                       whole_gib(outcome.device.memory_bytes), host.clock_policy};
  if (machine.model.empty()) {
    machine.model = fmt::format("unknown GPU beside {}", host.model);
    machine.memory_bytes = host.memory_bytes;
  }
  return machine;
}

SeriesName series_of(const Outcome& outcome, const MachineClass& host) {
  return {outcome.case_id, class_of(outcome, host), outcome.provider_options};
}

std::string series_id(const std::string& case_id) {
  constexpr std::string_view segment = "/device=cuda:";
  const std::size_t at = case_id.rfind(segment);
  if (at == std::string::npos) return case_id;
  const std::string ordinal = case_id.substr(at + segment.size());
  const bool is_number = !ordinal.empty() && std::ranges::all_of(ordinal, [](unsigned char c) {
    return std::isdigit(c);
  });
  return is_number ? case_id.substr(0, at + segment.size() - 1) : case_id;
}

std::string describe(const MachineClass& machine) {
  return fmt::format("{} {} {}", machine.device_kind, machine.arch, machine.model);
}

}  // namespace plumbline
