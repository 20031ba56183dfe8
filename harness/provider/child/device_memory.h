// Calls a provider's memory functions for one device. Each failure becomes a Stop with a reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// Returns the table with NULL for functions beyond its struct_size.
plumbline_device_memory whole_table(const plumbline_device_memory& table);

// The CUDA devices ("cuda:0") that can be used, or why none can. If the table has
// device_count, one allocation on device 0 decides for all devices, because an allocation creates a
// context, which takes time and memory.
struct UsableDevices {
  std::vector<std::string> names;
  std::string why_none;  // "device_count failed: cudaErrorNoDevice (100): …"; "" if there are names
};
// Never throws.
UsableDevices usable_devices(const plumbline_device_memory& table);

class DeviceMemory {
 public:
  // Keeps references to both arguments, which must outlive the object. `table` is the result of
  // whole_table().
  DeviceMemory(const plumbline_device_memory& table, const plumbline_device& device)
      : table_(&table), device_(&device) {}

  bool has_streams() const;  // has all functions that ordered_call.h needs
  bool has_clock() const;    // also has all functions that DeviceClock needs

  // `what` ("q") names the memory in the reason. Throws Stop with out_of_memory if the device lacks
  // memory, with error if the call fails otherwise.
  void* allocate(std::uint64_t bytes, const std::string& what) const;
  // Ignores errors, which later calls report.
  void release(void* pointer) const noexcept;
  void copy_to_device(void* device_to, const void* host_from, std::uint64_t bytes,
                      const std::string& what) const;
  void copy_to_host(void* host_to, const void* device_from, std::uint64_t bytes,
                    const std::string& what) const;
  void synchronize(void* stream) const;

  // Require has_streams().
  void* create_stream() const;
  void destroy_stream(void* stream) const noexcept;
  void enqueue_copy(void* to, const void* from, std::uint64_t bytes, void* stream) const;
  void enqueue_fill(void* at, int byte, std::uint64_t bytes, void* stream) const;
  void enqueue_call(void (*function)(void*), void* argument, void* stream) const;

  // Require has_clock().
  void* create_event() const;
  void destroy_event(void* event) const noexcept;
  void record_event(void* event, void* stream) const;
  double elapsed_ns(void* begin, void* end) const;

  // Returns empty facts if the table has none.
  plumbline_device_facts facts() const;

 private:
  void check(const char* function, const std::string& what,
             const std::function<std::int32_t()>& call) const;
  // Calls and ignores errors.
  static void attempt(const char* function, const std::function<std::int32_t()>& call) noexcept;

  const plumbline_device_memory* table_;
  const plumbline_device* device_;
};

}  // namespace plumbline
