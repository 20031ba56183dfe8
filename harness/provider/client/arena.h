// Shared memory for tensors between plumbline and a worker: one memfd with slots at page
// boundaries, pages between them that the worker leaves unmapped, and guard bytes on both sides of
// each tensor. The file is sealed, so a process with its descriptor cannot change its length. Such
// a process can still map the file again and write anywhere, so inputs need digests.
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

// The location of a tensor. The worker maps only [page_begin, page_end); the pages around a slot
// stay unmapped. The data *end* as near to page_end as a 64-byte aligned start allows, so that most
// overruns fault at once. The rest of the slot's pages is guard bytes.
struct Slot {
  std::string name;  // "q", "out", …
  Access access = Access::read;
  // position of the first data byte in the arena, 64-byte aligned; page_end if there is no data
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t page_begin = 0, page_end = 0;
};

class Arena {
 public:
  // Limit on the total size of a case. Address space is reserved at once, memory is used when
  // touched.
  static constexpr std::size_t capacity_bytes = std::size_t{64} << 30;

  // Throws HarnessFailure if plumbline runs out of descriptors or memory, as does place().
  static Result<Arena> create();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  // Forgets all slots. Up to 1 GiB of memory is kept for the next case.
  void reset();
  // Places a tensor of `bytes` (may be 0), writes its guard bytes and returns its index. Pointers
  // from data() stay valid until reset().
  Result<std::size_t> place(std::string name, std::size_t bytes, Access access);
  std::size_t slot_count() const;
  const Slot& slot(std::size_t index) const;
  void* data(std::size_t index);
  const void* data(std::size_t index) const;
  std::vector<std::byte> contents(int slot) const;  // empty for slot -1

  // Returns element 0 of a tensor in its slot (TensorShape::first).
  void* data(int slot, const TensorShape& shape);

  // Poisons a slot's data (bytes 0xFF: NaN in every float format, -1 in integers) and writes its
  // guard bytes.
  void poison(std::size_t index);
  void write_fences(std::size_t index);
  // Returns the changed guard bytes in order, as distances: -1 is the byte before the tensor, +1
  // the byte after its end. Empty = intact.
  std::vector<std::ptrdiff_t> broken_fence_bytes(std::size_t index) const;

  // Returns a digest of a slot's pages. Different contents have different digests, except for
  // 64-bit collisions.
  std::uint64_t digest(std::size_t index) const;

  int descriptor() const;
  // Returns how many bytes of the shared file plumbline has mapped; they include every slot.
  std::size_t size_bytes() const;

 private:
  struct State;
  explicit Arena(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plumbline
