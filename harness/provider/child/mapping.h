// What a worker sees of the shared memory: only the pages of the tensors a request names. Each has
// its access, in a reservation where every other page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/provider/messages.h"

namespace plumbline {

class MappedArena {
 public:
  // Throws Stop where mapping fails, as reopen() does. The mapping ends with the object.
  MappedArena(int descriptor, std::uint64_t arena_bytes,
              const std::vector<protocol::Tensor>& tensors);
  ~MappedArena();
  MappedArena(const MappedArena&) = delete;
  MappedArena& operator=(const MappedArena&) = delete;

  // Between requests: every page faults, so that what a kernel left running is caught.
  void close();
  // After close(): maps nothing and gives access as `tensors` say, or returns false where they do
  // not lie in the same pages.
  bool reopen(std::uint64_t arena_bytes, const std::vector<protocol::Tensor>& tensors);

  // Between two calls of a plan: likewise. resume() gives access again, to the same tensors.
  void pause();
  void resume(const std::vector<protocol::Tensor>& tensors);

  void* data(const protocol::Tensor& tensor) const { return base_ + tensor.offset; }
  // First byte of the tensor's pages.
  std::byte* pages(const protocol::Tensor& tensor) const { return base_ + tensor.page_begin; }

 private:
  void give_access(const std::vector<protocol::Tensor>& tensors) const;
  void watch(const std::vector<protocol::Tensor>& tensors) const;

  std::byte* reservation_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  std::byte* base_ = nullptr;  // where the arena's byte 0 would lie
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pages_;  // that are mapped: of each tensor
};

}  // namespace plumbline
