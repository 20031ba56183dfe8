// What a worker sees of the arena: only the pages of the slots that a request names, each with its access, in a reservation where every
// other page faults.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/provider/protocol.h"

namespace plumbline {

class MappedArena {
 public:
  // Throws Stop where mapping fails. The mapping ends with the object.
  MappedArena(int descriptor, std::uint64_t arena_bytes, const std::vector<protocol::Tensor>& tensors);
  ~MappedArena();
  MappedArena(const MappedArena&) = delete;
  MappedArena& operator=(const MappedArena&) = delete;

  void* data(const protocol::Tensor& tensor) const { return base_ + tensor.offset; }
  // First byte of the tensor's pages.
  std::byte* pages(const protocol::Tensor& tensor) const { return base_ + tensor.page_begin; }

 private:
  std::byte* reservation_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  std::byte* base_ = nullptr;  // where the arena's byte 0 would lie
};

}  // namespace plumbline
