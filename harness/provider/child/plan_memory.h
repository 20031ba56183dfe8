// Memory that a planner asks for in `prepare` (plumbline_tensors.allocate): poisoned, fenced, kept
// until its plan was destroyed, and freed here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/provider/child/device_buffer.h"
#include "harness/provider/child/workspace.h"

namespace plumbline {

class PlanMemory {
 public:
  // On a device where `memory` is one, else on the host. Filled with `byte`.
  PlanMemory(std::optional<DeviceMemory> memory, int byte) : memory_(memory), byte_(byte) {}
  PlanMemory(const PlanMemory&) = delete;
  PlanMemory& operator=(const PlanMemory&) = delete;

  // While it is offered, the provider may call tensors.allocate. Before and after, that field is
  // NULL, and a call through a pointer that was kept is an error.
  void offer(plumbline_tensors& tensors);
  void withdraw(plumbline_tensors& tensors);

  std::uint64_t bytes() const { return bytes_; }  // of all of it
  // "" or "3 bytes behind plan memory 2 were written to, the nearest 8 away". Throws Stop where the
  // fences cannot be read.
  std::string fault() const;

 private:
  static plumbline_status allocate(void* context, std::uint64_t bytes, void** out);
  void* add(std::uint64_t bytes);

  std::optional<DeviceMemory> memory_;
  int byte_;
  bool is_offered_ = false;
  std::uint64_t bytes_ = 0;
  std::vector<DeviceBuffer> on_device_;
  std::vector<std::unique_ptr<HostWorkspace>> on_host_;
};

}  // namespace plumbline
