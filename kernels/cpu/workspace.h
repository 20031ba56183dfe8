// Scratch memory of a kernel, carved from the workspace that plumbline owns. No kernel allocates
// while it runs, and whatever it reads before writing shows, because plumbline poisons the
// workspace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::cpu {

// The same calls in the same order first count the bytes (base nullptr, what `take` returns is not
// used) and then hand them out.
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

// What a `Scratch` takes that is made from these arguments and a Workspace.
template <class Scratch, class... Arguments>
std::uint64_t bytes_of(const Arguments&... arguments) {
  Workspace count(nullptr);
  const Scratch scratch(arguments..., count);
  return count.used();
}

}  // namespace plumbline::cpu
