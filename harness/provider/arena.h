// Shared memory through which tensors travel between plumbline and a worker: one memfd, slots at page boundaries with a guard page
// between them, fences (known bytes) in the slack before and behind each tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/problem/error.h"

namespace plumbline {

enum class Access { read, write };

// One tensor's place. The worker maps only [page_begin, page_end) of a slot; the pages around it stay unmapped.
struct Slot {
  std::string name;  // "q", "out", …
  Access access = Access::read;
  std::size_t offset = 0;  // of the first data byte, in the arena; 256-byte aligned for outputs' starts is not promised: the *end* of the
                           // data is placed as near as 64-byte alignment of the start allows to the end of its last page
  std::size_t bytes = 0;
  std::size_t page_begin = 0, page_end = 0;
};

class Arena {
 public:
  static Result<Arena> create();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  // Forgets all slots; memory is kept for the next case.
  void reset();
  // Places a tensor of `bytes` (0 allowed). Pointers from data() are invalidated.
  Result<std::size_t> place(std::string name, std::size_t bytes, Access access);
  std::size_t slot_count() const;
  const Slot& slot(std::size_t index) const;
  void* data(std::size_t index);
  const void* data(std::size_t index) const;

  // Poisons a slot's data (bytes 0xFF: NaN in every float format and -1 in integers) and writes its fences.
  void poison(std::size_t index);
  void write_fences(std::size_t index);
  // Bytes of the fences that changed: negative = before the tensor, positive = behind it; empty = intact.
  std::vector<std::ptrdiff_t> broken_fence_bytes(std::size_t index) const;

  int descriptor() const;

 private:
  Arena() = default;
  struct State;
  State* state_ = nullptr;
};

}  // namespace plumbline
