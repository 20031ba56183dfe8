// Fibers: a stack each, and a switch that stays in user space.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

#include "kernels/emulator/launch.h"

namespace plumbline::emulator {

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t default_stack_bytes = 256U << 10U;
#else
inline constexpr std::size_t default_stack_bytes = 64U << 10U;
#endif

// Memory for a stack, with an inaccessible page below. Throws std::bad_alloc where the system has no more mappings.
class Stack {
 public:
  explicit Stack(std::size_t bytes);
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  [[nodiscard]] std::byte* bottom() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::byte* mapping_;
  std::size_t mapped_bytes_;
};

// What can be switched to: a fiber with its own stack, or (default-constructed, while it is switched away from) the OS thread itself.
class Fiber {
 public:
  Fiber() = default;
  explicit Fiber(std::size_t stack_bytes) : stack_(std::make_unique<Stack>(stack_bytes)) {}

  // Makes the next switch to this fiber call `entry`, which must not return. What ran on it before is dropped without being unwound.
  void prepare(Switching switching, void (*entry)());
  // The first thing that `entry` does.
  static void entered();
  // Suspends this fiber, which is running, and resumes `to`. With `last`, this one will never be resumed.
  void switch_to(Fiber& to, Switching switching, bool last = false);

 private:
  void after_switch();

  std::unique_ptr<Stack> stack_;
  void* stack_pointer_ = nullptr;
  std::unique_ptr<ucontext_t> context_;  // ucontext only
  // AddressSanitizer wants to know which stack it is on.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace plumbline::emulator
