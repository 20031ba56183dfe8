// Uploads, downloads, poisons and compares a tensor's bytes, and checks the guard bytes around
// them.
#include "harness/provider/child/device_buffer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "harness/provider/child/call.h"
#include "harness/provider/child/workspace.h"
#include "harness/provider/pages.h"

namespace plumbline {

namespace {

// GPU toolkits align allocations to at least 256 bytes; guard bytes of that size keep the image
// aligned.
constexpr std::size_t fence_bytes = workspace_alignment;
using Fence = std::array<std::byte, fence_bytes>;
constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

}  // namespace

DeviceBuffer::DeviceBuffer(const DeviceMemory& memory, std::string name, std::size_t bytes)
    : memory_(memory), name_(std::move(name)), bytes_(bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - 2 * fence_bytes) {
    throw Stop{Status::out_of_memory,
               fmt::format("no device memory has {} bytes for {}", bytes, name_)};
  }
  allocation_ = static_cast<std::byte*>(memory_.allocate(bytes + 2 * fence_bytes, name_));
  data_ = allocation_ + fence_bytes;
  Fence fence;
  fence.fill(std::byte{fence_byte});
  to_device(allocation_, fence.data(), fence_bytes);
  to_device(data_ + bytes_, fence.data(), fence_bytes);
}

DeviceBuffer::~DeviceBuffer() {
  if (allocation_ != nullptr) memory_.release(allocation_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : memory_(other.memory_),
      name_(std::move(other.name_)),
      bytes_(other.bytes_),
      allocation_(std::exchange(other.allocation_, nullptr)),
      data_(other.data_) {}

void DeviceBuffer::to_device(std::byte* device_to, const std::byte* host_from,
                             std::size_t bytes) const {
  memory_.copy_to_device(device_to, host_from, bytes, name_);
}

void DeviceBuffer::to_host(std::byte* host_to, const std::byte* device_from,
                           std::size_t bytes) const {
  memory_.copy_to_host(host_to, device_from, bytes, name_);
}

void DeviceBuffer::upload(const std::byte* host) { to_device(data_, host, bytes_); }
void DeviceBuffer::download(std::byte* host) const { to_host(host, data_, bytes_); }

void DeviceBuffer::poison(int byte) {
  const std::vector<std::byte> poison(std::min(bytes_, chunk_bytes), static_cast<std::byte>(byte));
  for (std::size_t at = 0; at < bytes_; at += poison.size())
    to_device(data_ + at, poison.data(), std::min(poison.size(), bytes_ - at));
}

std::optional<std::size_t> DeviceBuffer::first_difference(const std::byte* host) const {
  std::vector<std::byte> image(std::min(bytes_, chunk_bytes));
  for (std::size_t at = 0; at < bytes_; at += image.size()) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(image.size(), bytes_ - at));
    to_host(image.data(), data_ + at, static_cast<std::size_t>(count));
    const auto [mine, theirs] = std::mismatch(image.begin(), image.begin() + count, host + at);
    if (mine != image.begin() + count) return at + static_cast<std::size_t>(mine - image.begin());
  }
  return std::nullopt;
}

std::string DeviceBuffer::fence_fault() const {
  Fence before, after;
  to_host(before.data(), allocation_, fence_bytes);
  to_host(after.data(), data_ + bytes_, fence_bytes);
  return plumbline::fence_fault(name_.c_str(), before.data(), fence_bytes, after.data(),
                                fence_bytes);
}

}  // namespace plumbline
