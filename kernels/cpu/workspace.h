// Scratch memory of a kernel, carved from plumbline's workspace. Kernels do not allocate while they
// run. Reading memory before writing it is detectable, because plumbline poisons the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::cpu {

// Used twice, with the same calls in the same order: first to count the bytes (base nullptr;
// results of `take` are not used), then to hand them out.
class Workspace {
 public:
  explicit Workspace(std::byte* base) : base_(base) {}

  template <class T>
  T* take(std::int64_t count) {
    const std::uint64_t offset = used_;
    used_ +=
        (static_cast<std::uint64_t>(count) * sizeof(T) + alignment - 1) / alignment * alignment;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }
  std::uint64_t used() const { return used_; }

 private:
  static constexpr std::uint64_t alignment = 64;
  std::byte* base_;
  std::uint64_t used_ = 0;
};

// Returns the bytes that a `Scratch` takes, if made from these arguments and a Workspace.
template <class Scratch, class... Arguments>
std::uint64_t bytes_of(const Arguments&... arguments) {
  Workspace count(nullptr);
  const Scratch scratch(arguments..., count);
  return count.used();
}

}  // namespace plumbline::cpu
