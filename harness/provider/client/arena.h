// Shared memory through which tensors travel between plumbline and a worker. It is one memfd with
// slots at page boundaries, unmapped pages between them, and fences (known bytes) in the slack
// before and behind each tensor. The file is sealed: who has its descriptor can neither shorten nor
// lengthen it. He can map it again and write anywhere, so that inputs need their digests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/problem/geometry.h"

namespace plumbline {

enum class Access { read, write };

// One tensor's place. The worker maps only [page_begin, page_end) of a slot; the pages around it
// stay unmapped. The data's *end* lies as near to page_end as a 64-byte aligned start allows, so
// that most overruns fault at once; what is left of the slot's pages is fence.
struct Slot {
  std::string name;  // "q", "out", …
  Access access = Access::read;
  // of the first data byte, in the arena; 64-byte aligned. Without data: page_end
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t page_begin = 0, page_end = 0;
};

class Arena {
 public:
  // At most this much can be placed; the address space is reserved at once, memory is taken as it
  // is touched.
  static constexpr std::size_t capacity_bytes = std::size_t{64} << 30;

  // Throws HarnessFailure where plumbline itself may have no more descriptors or memory; so does
  // place().
  static Result<Arena> create();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  // Forgets all slots; memory is kept for the next case (up to 1 GiB of it).
  void reset();
  // Places a tensor of `bytes` (0 allowed), writes its fences and returns its index. Pointers from
  // data() stay valid until reset().
  Result<std::size_t> place(std::string name, std::size_t bytes, Access access);
  std::size_t slot_count() const;
  const Slot& slot(std::size_t index) const;
  void* data(std::size_t index);
  const void* data(std::size_t index) const;
  std::vector<std::byte> contents(int slot) const;  // nothing of slot -1

  // Element 0 of a tensor in its slot (TensorShape::first).
  void* data(int slot, const TensorShape& shape);

  // Poisons a slot's data (bytes 0xFF: NaN in every float format and -1 in integers) and writes its
  // fences.
  void poison(std::size_t index);
  void write_fences(std::size_t index);
  // Bytes of the fences that changed, in order: -1 is the byte right before the tensor, +1 the one
  // right behind it; empty = intact.
  std::vector<std::ptrdiff_t> broken_fence_bytes(std::size_t index) const;

  // Of a slot's pages: whether they were changed. Two digests of the same pages differ if their
  // bytes do, but for an accident of 64 bits.
  std::uint64_t digest(std::size_t index) const;

  int descriptor() const;
  // Bytes of the shared file that are in use: every slot lies within.
  std::size_t size_bytes() const;

 private:
  struct State;
  explicit Arena(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plumbline
