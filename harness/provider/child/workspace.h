// Host memory for a kernel, such as its workspace: poisoned, with guard bytes, between unmapped
// pages.
#pragma once

#include <cstddef>
#include <string>

namespace plumbline {

class HostWorkspace {
 public:
  // Fills with `byte`. Throws Stop (out of memory). `bytes` may be 0: data() is then null. `name`
  // is used in faults and crash messages.
  HostWorkspace(std::size_t bytes, int byte, std::string name = "workspace");
  ~HostWorkspace();
  HostWorkspace(const HostWorkspace&) = delete;
  HostWorkspace& operator=(const HostWorkspace&) = delete;

  // Between requests: makes every page fault.
  void close();
  // After close(): reuses the mapping for `bytes`, filled with `byte`. Returns false if that needs
  // another number of pages.
  bool reopen(std::size_t bytes, int byte);

  std::size_t mapped_bytes() const { return mapping_bytes_; }
  void* data() const { return data_; }  // 256-byte aligned
  // Returns "" or which guard bytes were overwritten.
  std::string fault() const;

 private:
  bool open(std::size_t inner_bytes, int byte);

  std::string name_;
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Compares the guard bytes before and after the memory `name` with their pattern. Returns "" or a
// fault with the number of changed bytes and the distance of the nearest one from that memory.
std::string fence_fault(const char* name, const std::byte* before, std::size_t before_bytes,
                        const std::byte* after, std::size_t after_bytes);

}  // namespace plumbline
