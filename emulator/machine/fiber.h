// Fibers: each has its own stack, and they switch in user space.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

#include "emulator/machine/switch.h"

#if defined(__x86_64__) && !defined(PLUMBLINE_EMULATOR_UCONTEXT)
#define PLUMBLINE_EMULATOR_ASSEMBLY 1
#endif

namespace plumbline::emulator {

// How fibers are switched. On machines other than x86-64, or with PLUMBLINE_EMULATOR_UCONTEXT, both
// values mean ucontext.
enum class Switching { assembly, ucontext };

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t default_stack_bytes = 256U << 10U;
#else
inline constexpr std::size_t default_stack_bytes = 64U << 10U;
#endif

// Memory for a stack, with an inaccessible page below. Throws std::bad_alloc if the system has no
// more mappings.
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

// A target of a switch: a fiber with its own stack or, if default-constructed, the OS thread itself
// while it is suspended.
class Fiber {
 public:
  Fiber() = default;
  // The first `stagger` bytes, a multiple of 16, stay unused. Otherwise fibers that run the same
  // code would use the same few cache sets, which an address's last 12 bits choose.
  explicit Fiber(std::size_t stack_bytes, std::size_t stagger = 0)
      : stack_(std::make_unique<Stack>(stack_bytes + stagger)), stagger_(stagger) {}

  // Makes the next switch to this fiber call `entry`, which must not return. Earlier code on this
  // stack is dropped without being unwound.
  void prepare(Switching switching, void (*entry)());
  // Returns true if a fiber is only its stack pointer and switch_stacks() is the whole switch.
  static constexpr bool is_stack_pointer(Switching switching) {
#if defined(PLUMBLINE_EMULATOR_ASSEMBLY) && !defined(__SANITIZE_ADDRESS__)
    return switching == Switching::assembly;
#else
    static_cast<void>(switching);
    return false;
#endif
  }
  // The stack pointer that a switch away from this fiber stores and a switch to it loads.
  [[nodiscard]] void** stack_pointer() { return &stack_pointer_; }
  // Must be the first call in `entry`.
  static void entered();
  // Suspends this fiber, which is running, and resumes `to`. With `last`, this fiber will never be
  // resumed. Inlined completely, because the processor mispredicts every return after a switch. A
  // version with calls took 2.6 times as long per switch. Boost.Context 1.74, which uses calls,
  // took 2.2 times as long per switch, and 1.16 to 1.24 times as long for our kernels.
  __attribute__((always_inline)) void switch_to(Fiber& to, Switching switching, bool last = false) {
    before_switch(to, last);
#ifdef PLUMBLINE_EMULATOR_ASSEMBLY
    if (switching == Switching::assembly) {
      switch_stacks(&stack_pointer_, to.stack_pointer_);
      after_switch();
      return;
    }
#endif
    switch_by_ucontext(to);
    after_switch();
  }

 private:
  void switch_by_ucontext(Fiber& to);
#ifdef __SANITIZE_ADDRESS__
  void before_switch(const Fiber& to, bool last);
  void after_switch();
#else
  void before_switch(const Fiber&, bool) {}
  void after_switch() {}
#endif
  std::unique_ptr<Stack> stack_;
  std::size_t stagger_ = 0;
  void* stack_pointer_ = nullptr;
  std::unique_ptr<ucontext_t> context_;  // ucontext only
  // For AddressSanitizer, which must know the current stack.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace plumbline::emulator
