// Calls a provider's memory functions for one device; each failure is a Stop with words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// The table with NULL for what lies beyond its size.
plumbline_device_memory whole_table(const plumbline_device_memory& table);

// Beside the CPU, the devices that memory can be had on, "cuda:0", or why there is none. Where the
// table counts devices, only the first is asked for memory, because that makes a context, which
// takes time and memory on each.
struct UsableDevices {
  std::vector<std::string> names;
  std::string why_none;  // "device_count failed: cudaErrorNoDevice (100): …"; "" where there is one
};
// Never throws.
UsableDevices usable_devices(const plumbline_device_memory& table);

class DeviceMemory {
 public:
  // Keeps references: both outlive it. `table` is a whole one.
  DeviceMemory(const plumbline_device_memory& table, const plumbline_device& device)
      : table_(&table), device_(&device) {}

  bool has_streams() const;  // those that an ordered call needs
  bool has_clock() const;    // and what times on the device's clock need

  // `what` names the memory in the reason, "q". Too little memory stops with out_of_memory,
  // anything else with error.
  void* allocate(std::uint64_t bytes, const std::string& what) const;
  // A failing release also fails whatever comes next; it is not told.
  void release(void* pointer) const noexcept;
  void copy_to_device(void* device_to, const void* host_from, std::uint64_t bytes,
                      const std::string& what) const;
  void copy_to_host(void* host_to, const void* device_from, std::uint64_t bytes,
                    const std::string& what) const;
  void synchronize(void* stream) const;

  // Only where has_streams().
  void* create_stream() const;
  void destroy_stream(void* stream) const noexcept;
  void enqueue_copy(void* to, const void* from, std::uint64_t bytes, void* stream) const;
  void enqueue_fill(void* at, int byte, std::uint64_t bytes, void* stream) const;
  void enqueue_call(void (*function)(void*), void* argument, void* stream) const;

  // Only where has_clock().
  void* create_event() const;
  void destroy_event(void* event) const noexcept;
  void record_event(void* event, void* stream) const;
  double elapsed_ns(void* begin, void* end) const;

  // All empty where the table cannot tell.
  plumbline_device_facts facts() const;

 private:
  void check(const char* function, const std::string& what,
             const std::function<std::int32_t()>& call) const;
  // Calls, and drops whatever goes wrong.
  static void attempt(const char* function, const std::function<std::int32_t()>& call) noexcept;

  const plumbline_device_memory* table_;
  const plumbline_device* device_;
};

}  // namespace plumbline
