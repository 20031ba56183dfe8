// A tensor's image in device memory, between guard bytes. All functions throw Stop if the
// provider's memory functions fail.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/provider/child/device_memory.h"

namespace plumbline {

class DeviceBuffer {
 public:
  DeviceBuffer(const DeviceMemory& memory, std::string name, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;

  void* data() const { return data_; }  // the image, in device memory
  std::size_t bytes() const { return bytes_; }
  void upload(const std::byte* host);
  void poison(int byte);
  void download(std::byte* host) const;
  // Returns the first byte in which the image differs from `host`.
  std::optional<std::size_t> first_difference(const std::byte* host) const;
  // Returns "" or which guard bytes were overwritten.
  std::string fence_fault() const;

 private:
  void to_device(std::byte* device_to, const std::byte* host_from, std::size_t bytes) const;
  void to_host(std::byte* host_to, const std::byte* device_from, std::size_t bytes) const;

  DeviceMemory memory_;
  std::string name_;
  std::size_t bytes_;
  std::byte* allocation_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace plumbline
