// Memory on the host for a kernel, such as its workspace: poisoned, fenced, between unmapped pages.
#pragma once

#include <cstddef>
#include <string>

namespace plumbline {

class HostWorkspace {
 public:
  // Filled with `byte`. Throws Stop (out of memory). `bytes` may be 0: data() is then null. `name`
  // is what faults and crashes say.
  HostWorkspace(std::size_t bytes, int byte, std::string name = "workspace");
  ~HostWorkspace();
  HostWorkspace(const HostWorkspace&) = delete;
  HostWorkspace& operator=(const HostWorkspace&) = delete;

  // Between requests: every page faults.
  void close();
  // After close(): as a new one of `bytes` would be, or false where that takes other pages.
  bool reopen(std::size_t bytes, int byte);

  std::size_t mapped_bytes() const { return mapping_bytes_; }
  void* data() const { return data_; }  // 256-byte aligned
  // "" or which of its fences was written to.
  std::string fault() const;

 private:
  bool open(std::size_t inner_bytes, int byte);

  std::string name_;
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// "" or "3 bytes before NAME were written to, the nearest 8 bytes away": compares two fences with
// their pattern.
std::string fence_fault(const char* name, const std::byte* before, std::size_t before_bytes,
                        const std::byte* behind, std::size_t behind_bytes);

}  // namespace plumbline
