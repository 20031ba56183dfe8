// Emulates cp.async: a copy lands only in the wait that requires it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/block.h"

namespace plumbline::emulator {
namespace {

constexpr std::size_t largest = 16;  // bytes

void land(const AsyncCopy& copy) {
  if (copy.source_bytes != 0) std::memcpy(copy.shared, copy.global, copy.source_bytes);
  std::memset(copy.shared + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

}  // namespace

void cp_async(void* shared, const void* global, std::size_t bytes, std::size_t source_bytes,
              Where where) {
  Lane& lane = Block::self();
  Block& block = Block::of(lane);
  if ((bytes != 4 && bytes != 8 && bytes != largest) || source_bytes > bytes) {
    block.fail_at(
        Call::cp_async, where,
        fmt::format("reads {} of {} bytes: a copy must have 4, 8 or 16 bytes, and read no more",
                    source_bytes, bytes));
  }
  block.check_shared(Call::cp_async, where, shared, bytes);
  if (source_bytes != 0 && reinterpret_cast<std::uintptr_t>(global) % bytes != 0) {
    block.fail_at(Call::cp_async, where,
                  fmt::format("global address {} is not {}-byte aligned", global, bytes));
  }
#ifdef __SANITIZE_ADDRESS__
  // Reads the source now, so that AddressSanitizer reports a bad address at the copy's line.
  std::byte probe[largest];
  if (source_bytes != 0) std::memcpy(probe, global, source_bytes);
  asm volatile("" ::"r"(probe) : "memory");
#endif
  std::memset(shared, 0xFF, bytes);
  lane.copies.push_back({static_cast<std::byte*>(shared), global, source_bytes, bytes});
}

void cp_async_16(void* shared, const void* global, bool valid, Where where) {
  Lane& lane = Block::self();
  std::size_t source_bytes = largest;
  if (const Fault* fault = Block::of(lane).fault()) {
    const Fault::Copy copy = fault->copy(lane.notes, valid);
    if (copy == Fault::Copy::never_issued) return;
    valid = valid || copy == Fault::Copy::valid;
    if (copy == Fault::Copy::first_half) source_bytes = largest / 2;
  }
  cp_async(shared, global, largest, valid ? source_bytes : 0, where);
}

void cp_async_commit() {
  Lane& lane = Block::self();
  if (const Fault* fault = Block::of(lane).fault()) fault->commit(lane.notes);
  lane.group_ends.push_back(lane.copies.size());
}

void cp_async_wait(int groups, Where where) {
  Lane& lane = Block::self();
  if (Block::of(lane).skips(Call::cp_async_wait, where)) return;
  const Fault* const fault = Block::of(lane).fault();
  if (fault != nullptr) groups = fault->wait(lane.notes, groups);
  if (groups < 0) return;
  const auto pending = static_cast<std::size_t>(groups);
  if (lane.group_ends.size() <= pending) return;
  const std::size_t landed_groups = lane.group_ends.size() - pending;
  const std::size_t landed = lane.group_ends[landed_groups - 1];
  std::for_each_n(lane.copies.begin(), landed, land);
  if (fault != nullptr)
    std::for_each_n(lane.copies.begin(), landed,
                    [&](const AsyncCopy& copy) { fault->landed(copy.shared); });
  lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(landed));
  lane.group_ends.erase(lane.group_ends.begin(),
                        lane.group_ends.begin() + static_cast<std::ptrdiff_t>(landed_groups));
  for (std::size_t& end : lane.group_ends) end -= landed;
}

}  // namespace plumbline::emulator
