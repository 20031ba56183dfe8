// Maps the pages of a request's tensors with their access, and revokes it afterwards.
#include "harness/provider/child/mapping.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/provider/child/call.h"
#include "harness/provider/child/crash_report.h"
#include "harness/provider/pages.h"

namespace plumbline {

namespace {

// Unmapped address space around the arena, so that a stray pointer does not hit other memory.
constexpr std::size_t margin_bytes = std::size_t{1} << 20;

void check(const protocol::Tensor& t, std::uint64_t arena_bytes) {
  const bool aligned = t.page_begin % page_bytes == 0 && t.page_end % page_bytes == 0;
  const bool ordered =
      t.page_begin <= t.offset && t.offset <= t.page_end && t.bytes <= t.page_end - t.offset;
  if (!aligned || !ordered || t.page_begin >= t.page_end || t.page_end > arena_bytes) {
    throw Stop{Status::error,
               fmt::format("tensor {} does not lie within its pages of the arena", t.name)};
  }
}

int protection(const protocol::Tensor& tensor) {
  return tensor.access == "write" ? PROT_READ | PROT_WRITE : PROT_READ;
}

Stop not_mapped(const protocol::Tensor& tensor, int error) {
  return {Status::out_of_memory,
          fmt::format("tensor {} cannot be mapped: {}", tensor.name, std::strerror(error))};
}

}  // namespace

MappedArena::MappedArena(int descriptor, std::uint64_t arena_bytes,
                         const std::vector<protocol::Tensor>& tensors) {
  for (const auto& tensor : tensors) check(tensor, arena_bytes);
  reserved_bytes_ = arena_bytes + 2 * margin_bytes;
  void* reservation =
      mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED)
    throw Stop{Status::out_of_memory,
               fmt::format("no address space for {} bytes of tensors", arena_bytes)};
  reservation_ = static_cast<std::byte*>(reservation);
  base_ = reservation_ + margin_bytes;
  for (const auto& tensor : tensors) {
    void* at =
        mmap(base_ + tensor.page_begin, tensor.page_end - tensor.page_begin, protection(tensor),
             MAP_SHARED | MAP_FIXED, descriptor, static_cast<off_t>(tensor.page_begin));
    if (at == MAP_FAILED) {
      const int error = errno;
      munmap(reservation_, reserved_bytes_);
      throw not_mapped(tensor, error);
    }
    pages_.emplace_back(tensor.page_begin, tensor.page_end);
  }
  watch(tensors);
}

void MappedArena::watch(const std::vector<protocol::Tensor>& tensors) const {
  for (const auto& tensor : tensors)
    watch_memory(tensor.name, data(tensor), tensor.bytes, tensor.access == "write");
}

void MappedArena::close() {
  forget_watched_memory();
  mprotect(reservation_, reserved_bytes_, PROT_NONE);
}

bool MappedArena::reopen(std::uint64_t arena_bytes, const std::vector<protocol::Tensor>& tensors) {
  for (const auto& tensor : tensors) check(tensor, arena_bytes);
  const auto same_pages = [](const auto& pages, const auto& tensor) {
    return pages == std::pair(tensor.page_begin, tensor.page_end);
  };
  if (arena_bytes + 2 * margin_bytes != reserved_bytes_ ||
      !std::ranges::equal(pages_, tensors, same_pages)) {
    return false;
  }
  give_access(tensors);
  watch(tensors);
  return true;
}

void MappedArena::give_access(const std::vector<protocol::Tensor>& tensors) const {
  for (const auto& tensor : tensors) {
    if (mprotect(base_ + tensor.page_begin, tensor.page_end - tensor.page_begin,
                 protection(tensor)) != 0)
      throw not_mapped(tensor, errno);
  }
}

void MappedArena::pause() { mprotect(reservation_, reserved_bytes_, PROT_NONE); }

void MappedArena::resume(const std::vector<protocol::Tensor>& tensors) { give_access(tensors); }

MappedArena::~MappedArena() {
  forget_watched_memory();
  munmap(reservation_, reserved_bytes_);
}

}  // namespace plumbline
