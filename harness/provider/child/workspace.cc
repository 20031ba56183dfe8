// Maps the host workspace, poisons it, and checks its guard bytes.
#include "harness/provider/child/workspace.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "harness/provider/child/call.h"
#include "harness/provider/child/crash_report.h"
#include "harness/provider/pages.h"

namespace plumbline {

namespace {
// Adds a byte, so that at least one guard byte follows the data. Guard bytes before the data fill
// the rest of the pages.
std::size_t inner_bytes_of(std::size_t bytes) { return round_up(bytes + 1, page_bytes); }
}  // namespace

std::string fence_fault(const char* name, const std::byte* before, std::size_t before_bytes,
                        const std::byte* after, std::size_t after_bytes) {
  std::size_t count_before = 0, nearest_before = 0, count_after = 0, nearest_after = 0;
  for (std::size_t i = 0; i < before_bytes; ++i) {
    if (before[i] == std::byte{fence_byte}) continue;
    ++count_before;
    nearest_before = before_bytes - i;
  }
  for (std::size_t i = after_bytes; i-- > 0;) {
    if (after[i] == std::byte{fence_byte}) continue;
    ++count_after;
    nearest_after = i + 1;
  }
  if (count_before > 0)
    return fmt::format("{} bytes before {} were written to, the nearest {} away", count_before,
                       name, nearest_before);
  if (count_after > 0)
    return fmt::format("{} bytes after {} were overwritten, the nearest {} away", count_after, name,
                       nearest_after);
  return "";
}

HostWorkspace::HostWorkspace(std::size_t bytes, int byte, std::string name)
    : name_(std::move(name)), bytes_(bytes) {
  if (bytes == 0) return;
  const Stop no_memory{Status::out_of_memory,
                       fmt::format("no memory for a {} of {} bytes", name_, bytes)};
  const std::size_t inner_bytes = inner_bytes_of(bytes);
  if (inner_bytes < bytes || inner_bytes + 2 * page_bytes < inner_bytes) throw no_memory;
  mapping_bytes_ = inner_bytes + 2 * page_bytes;
  void* mapping =
      mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw no_memory;
  mapping_ = static_cast<std::byte*>(mapping);
  if (!open(inner_bytes, byte)) {
    munmap(mapping_, mapping_bytes_);
    throw no_memory;
  }
}

bool HostWorkspace::open(std::size_t inner_bytes, int byte) {
  std::byte* const inner = mapping_ + page_bytes;
  if (mprotect(inner, inner_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  data_ = inner + round_down(inner_bytes - bytes_, workspace_alignment);
  std::memset(inner, fence_byte, static_cast<std::size_t>(data_ - inner));
  std::memset(data_, byte, bytes_);
  std::memset(data_ + bytes_, fence_byte,
              static_cast<std::size_t>(inner + inner_bytes - (data_ + bytes_)));
  watch_memory(name_, data_, bytes_, true);
  return true;
}

void HostWorkspace::close() {
  if (mapping_ != nullptr) mprotect(mapping_, mapping_bytes_, PROT_NONE);
}

bool HostWorkspace::reopen(std::size_t bytes, int byte) {
  const std::size_t inner_bytes = inner_bytes_of(bytes);
  if (mapping_ == nullptr || bytes == 0 || inner_bytes + 2 * page_bytes != mapping_bytes_)
    return false;
  bytes_ = bytes;
  return open(inner_bytes, byte);
}

HostWorkspace::~HostWorkspace() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

std::string HostWorkspace::fault() const {
  if (data_ == nullptr) return "";
  const std::byte* const first = mapping_ + page_bytes;
  const std::byte* const last = mapping_ + mapping_bytes_ - page_bytes;
  return fence_fault(name_.c_str(), first, static_cast<std::size_t>(data_ - first), data_ + bytes_,
                     static_cast<std::size_t>(last - (data_ + bytes_)));
}

}  // namespace plumbline
