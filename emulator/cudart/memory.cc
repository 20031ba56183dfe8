// Device memory is host memory, and every call is complete when it returns. A kernel that accesses
// a byte outside of all allocations is stopped.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "emulator/cudart/device.h"

namespace plumbline::cudart {
namespace {

// The alignment that cudaMalloc guarantees.
constexpr std::size_t alignment = 256;

struct Blocks {
  std::mutex mutex;
  std::map<void*, std::size_t> bytes;
};
Blocks& blocks() {
  static auto* const all = new Blocks;
  return *all;
}

Error allocate(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return success;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const fresh = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (fresh == nullptr)
    return report(memory_allocation, fmt::format("cannot allocate {} bytes on the host", bytes));
  // On a device, new memory has undefined contents. NaN in every format exposes premature reads.
  std::memset(fresh, 0xff, bytes);
  {
    const std::lock_guard lock(blocks().mutex);
    blocks().bytes[fresh] = bytes;
  }
  Device::instance().allocations().add(fresh, bytes);
  *pointer = fresh;
  return success;
}

Error release(void* pointer) {
  if (pointer == nullptr) return success;
  {
    const std::lock_guard lock(blocks().mutex);
    if (blocks().bytes.erase(pointer) == 0)
      return report(invalid_value,
                    fmt::format("{} was not allocated by this CUDA library", pointer));
  }
  Device::instance().allocations().remove(pointer);
  std::free(pointer);
  return success;
}

Error copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return success;
}

Error copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                std::size_t width, std::size_t height) {
  if (width > to_pitch || width > from_pitch)
    return report(invalid_value, "a row is longer than its pitch");
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                static_cast<const std::byte*>(from) + row * from_pitch, width);
  return success;
}

// Copies between the host and a variable of the device.
Error copy_symbol(const void* host, std::size_t offset, std::size_t bytes, void* out,
                  const void* in) {
  const auto found = Device::instance().symbol(host);
  if (!found) return report(found.error());
  const auto [begin, size] = *found;
  if (offset > size || bytes > size - offset)
    return report(invalid_value, fmt::format("cannot copy bytes {} to {} of a variable of {} bytes",
                                             offset, offset + bytes, size));
  return out != nullptr ? copy(out, begin + offset, bytes) : copy(begin + offset, in, bytes);
}

}  // namespace
}  // namespace plumbline::cudart

using namespace plumbline::cudart;  // the functions below are C

extern "C" {

Error cudaMalloc(void** pointer, std::size_t bytes) { return allocate(pointer, bytes); }
Error cudaMallocAsync(void** pointer, std::size_t bytes, void*) { return allocate(pointer, bytes); }
Error cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes);
}
Error cudaMallocHost(void** pointer, std::size_t bytes) { return allocate(pointer, bytes); }
Error cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes);
}
Error cudaFree(void* pointer) { return release(pointer); }
Error cudaFreeAsync(void* pointer, void*) { return release(pointer); }
Error cudaFreeHost(void* pointer) { return release(pointer); }
Error cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return success;
}
Error cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  Device::instance().allocations().add(pointer, bytes);
  return success;
}
Error cudaHostUnregister(void* pointer) {
  Device::instance().allocations().remove(pointer);
  return success;
}

Error cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  return copy(to, from, bytes);
}
Error cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  return copy(to, from, bytes);
}
Error cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                   std::size_t width, std::size_t height, int) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}
Error cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height, int, void*) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}
Error cudaMemset(void* at, int value, std::size_t bytes) {
  std::memset(at, value, bytes);
  return success;
}
Error cudaMemsetAsync(void* at, int value, std::size_t bytes, void*) {
  std::memset(at, value, bytes);
  return success;
}

Error cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                         std::size_t offset, int) {
  return copy_symbol(symbol, offset, bytes, nullptr, from);
}
Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                              std::size_t offset, int, void*) {
  return copy_symbol(symbol, offset, bytes, nullptr, from);
}
Error cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                           int) {
  return copy_symbol(symbol, offset, bytes, to, nullptr);
}
Error cudaGetSymbolAddress(void** pointer, const void* symbol) {
  const auto found = Device::instance().symbol(symbol);
  if (!found) return report(found.error());
  *pointer = found->first;
  return success;
}
Error cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  const auto found = Device::instance().symbol(symbol);
  if (!found) return report(found.error());
  *bytes = found->second;
  return success;
}

}  // extern "C"
