// Allocates a planner's memory through a C function, which must not throw.
#include "harness/provider/child/plan_memory.h"

#include <fmt/core.h>

#include <new>

#include "harness/provider/child/call.h"

namespace plumbline {

void PlanMemory::offer(plumbline_tensors& tensors) {
  is_offered_ = true;
  tensors.allocate = allocate;
  tensors.allocate_context = this;
}

void PlanMemory::withdraw(plumbline_tensors& tensors) {
  is_offered_ = false;
  tensors.allocate = nullptr;
  tensors.allocate_context = nullptr;
}

plumbline_status PlanMemory::allocate(void* context, std::uint64_t bytes, void** out) {
  auto& self = *static_cast<PlanMemory*>(context);
  *out = nullptr;
  if (!self.is_offered_) return PLUMBLINE_ERROR;
  try {
    if (bytes != 0) *out = self.add(bytes);
    return PLUMBLINE_OK;
  } catch (const Stop& stop) {
    return stop.status == Status::out_of_memory ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_ERROR;
  } catch (const std::bad_alloc&) {
    return PLUMBLINE_OUT_OF_MEMORY;
  }
}

void* PlanMemory::add(std::uint64_t bytes) {
  std::string name = fmt::format("plan memory {}", on_device_.size() + on_host_.size() + 1);
  void* data = nullptr;
  if (memory_) {
    DeviceBuffer& buffer = on_device_.emplace_back(*memory_, std::move(name), bytes);
    buffer.poison(byte_);
    data = buffer.data();
  } else {
    on_host_.push_back(std::make_unique<HostWorkspace>(bytes, byte_, std::move(name)));
    data = on_host_.back()->data();
  }
  bytes_ += bytes;
  return data;
}

std::string PlanMemory::fault() const {
  std::string first;
  for (const DeviceBuffer& buffer : on_device_) {
    if (first.empty()) first = buffer.fence_fault();
  }
  for (const auto& memory : on_host_) {
    if (first.empty()) first = memory->fault();
  }
  return first;
}

}  // namespace plumbline
