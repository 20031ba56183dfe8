#include "harness/provider/worker/mapping.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "harness/provider/pages.h"
#include "harness/provider/worker/call.h"
#include "harness/provider/worker/crash_report.h"

namespace plumbline {

namespace {

// Unmapped address space around the arena, so that a stray pointer does not land in somebody else's memory.
constexpr std::size_t margin_bytes = std::size_t{1} << 20;

void check(const protocol::Tensor& t, std::uint64_t arena_bytes) {
  const bool aligned = t.page_begin % page_bytes == 0 && t.page_end % page_bytes == 0;
  const bool ordered = t.page_begin <= t.offset && t.offset <= t.page_end && t.bytes <= t.page_end - t.offset;
  if (!aligned || !ordered || t.page_begin >= t.page_end || t.page_end > arena_bytes) {
    throw Stop{Status::error, fmt::format("tensor {} does not lie within its pages of the arena", t.name)};
  }
}

}  // namespace

MappedArena::MappedArena(int descriptor, std::uint64_t arena_bytes, const std::vector<protocol::Tensor>& tensors) {
  for (const auto& tensor : tensors) check(tensor, arena_bytes);
  reserved_bytes_ = arena_bytes + 2 * margin_bytes;
  void* reservation = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) throw Stop{Status::out_of_memory, fmt::format("no address space for {} bytes of tensors", arena_bytes)};
  reservation_ = static_cast<std::byte*>(reservation);
  base_ = reservation_ + margin_bytes;
  for (const auto& tensor : tensors) {
    const bool writable = tensor.access == "write";
    void* at = mmap(base_ + tensor.page_begin, tensor.page_end - tensor.page_begin, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED | MAP_FIXED, descriptor, static_cast<off_t>(tensor.page_begin));
    if (at == MAP_FAILED) {
      const int error = errno;
      munmap(reservation_, reserved_bytes_);
      throw Stop{Status::out_of_memory, fmt::format("tensor {} cannot be mapped: {}", tensor.name, std::strerror(error))};
    }
    watch_memory(tensor.name, data(tensor), tensor.bytes, writable);
  }
}

MappedArena::~MappedArena() {
  forget_watched_memory();
  munmap(reservation_, reserved_bytes_);
}

}  // namespace plumbline
