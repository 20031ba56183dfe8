// Fibers: a stack each, and a switch that stays in user space.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

#include "emulator/machine/switch.h"

#if defined(__x86_64__) && !defined(PLUMBLINE_EMULATOR_UCONTEXT)
#define PLUMBLINE_EMULATOR_ASSEMBLY 1
#endif

namespace plumbline::emulator {

// How fibers are switched. Elsewhere than on x86-64, and where built with
// PLUMBLINE_EMULATOR_UCONTEXT, both mean ucontext.
enum class Switching { assembly, ucontext };

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t default_stack_bytes = 256U << 10U;
#else
inline constexpr std::size_t default_stack_bytes = 64U << 10U;
#endif

// Memory for a stack, with an inaccessible page below. Throws std::bad_alloc where the system has
// no more mappings.
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

// What can be switched to: a fiber with its own stack, or (default-constructed, while it is
// switched away from) the OS thread itself.
class Fiber {
 public:
  Fiber() = default;
  // The first `stagger` bytes, a multiple of 16, stay free: fibers that do the same on stacks of
  // their own would otherwise use the same few sets of a cache, whose places an address's last 12
  // bits choose.
  explicit Fiber(std::size_t stack_bytes, std::size_t stagger = 0)
      : stack_(std::make_unique<Stack>(stack_bytes + stagger)), stagger_(stagger) {}

  // Makes the next switch to this fiber call `entry`, which must not return. What ran on it before
  // is dropped without being unwound.
  void prepare(Switching switching, void (*entry)());
  // Whether a fiber is its stack pointer alone, and switch_stacks() all that a switch takes.
  static constexpr bool is_stack_pointer(Switching switching) {
#if defined(PLUMBLINE_EMULATOR_ASSEMBLY) && !defined(__SANITIZE_ADDRESS__)
    return switching == Switching::assembly;
#else
    static_cast<void>(switching);
    return false;
#endif
  }
  // What a switch away from the fiber fills, and one to it reads.
  [[nodiscard]] void** stack_pointer() { return &stack_pointer_; }
  // The first thing that `entry` does.
  static void entered();
  // Suspends this fiber, which is running, and resumes `to`. With `last`, this one will never be
  // resumed. Inline down to the instruction: each return after a switch is one that the processor
  // has not predicted (2.6 times the switches per second that calls gave). Boost.Context 1.74,
  // which calls, took 2.2 times as long for a switch and 1.16 to 1.24 times for our kernels.
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
  // AddressSanitizer wants to know which stack it is on.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace plumbline::emulator
