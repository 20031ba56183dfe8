// Maps the shared memory in a worker: only the pages of a request's tensors, each with its access.
// All other pages of the reservation fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/provider/messages.h"

namespace plumbline {

class MappedArena {
 public:
  // Throws Stop if mapping fails, as does reopen(). The destructor unmaps.
  MappedArena(int descriptor, std::uint64_t arena_bytes,
              const std::vector<protocol::Tensor>& tensors);
  ~MappedArena();
  MappedArena(const MappedArena&) = delete;
  MappedArena& operator=(const MappedArena&) = delete;

  // Between requests: makes every page fault, so that code that a kernel left running is caught.
  void close();
  // After close(): restores access for `tensors` without mapping. Returns false if their pages
  // differ from the mapped ones.
  bool reopen(std::uint64_t arena_bytes, const std::vector<protocol::Tensor>& tensors);

  // Between two calls of a plan: pause() makes every page fault, resume() restores access to the
  // same tensors.
  void pause();
  void resume(const std::vector<protocol::Tensor>& tensors);

  void* data(const protocol::Tensor& tensor) const { return base_ + tensor.offset; }
  // Returns the first byte of the tensor's pages.
  std::byte* pages(const protocol::Tensor& tensor) const { return base_ + tensor.page_begin; }

 private:
  void give_access(const std::vector<protocol::Tensor>& tensors) const;
  void watch(const std::vector<protocol::Tensor>& tensors) const;

  std::byte* reservation_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  std::byte* base_ = nullptr;                                   // address of byte 0 of the arena
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pages_;  // mapped [begin, end) of each
                                                                // tensor
};

}  // namespace plumbline
