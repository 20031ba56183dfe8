// Memory that a planner allocates in `prepare` (plumbline_tensors.allocate): poisoned, between
// guard bytes, and freed here after the plan was destroyed.
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
  // Allocates on the device if `memory` is set, otherwise on the host. Fills with `byte`.
  PlanMemory(std::optional<DeviceMemory> memory, int byte) : memory_(memory), byte_(byte) {}
  PlanMemory(const PlanMemory&) = delete;
  PlanMemory& operator=(const PlanMemory&) = delete;

  // Between offer() and withdraw() the provider may call tensors.allocate. Otherwise that field is
  // NULL, and a call through a saved pointer returns PLUMBLINE_ERROR.
  void offer(plumbline_tensors& tensors);
  void withdraw(plumbline_tensors& tensors);

  std::uint64_t bytes() const { return bytes_; }  // total
  // Returns "" or which guard bytes were overwritten. Throws Stop if they cannot be read.
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
