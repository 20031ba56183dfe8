#include "kernels/emulator/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(PLUMBLINE_EMULATOR_UCONTEXT)
#define PLUMBLINE_EMULATOR_ASSEMBLY 1
#endif

namespace plumbline::emulator {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

#ifdef __SANITIZE_ADDRESS__
thread_local Fiber* left = nullptr;  // the fiber that the last switch suspended
#endif

}  // namespace

Stack::Stack(std::size_t bytes) : mapped_bytes_((bytes + page_bytes() - 1) / page_bytes() * page_bytes() + page_bytes()) {
  void* const mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(mapping, page_bytes(), PROT_NONE) != 0) {
    munmap(mapping, mapped_bytes_);
    throw std::bad_alloc();
  }
}

Stack::~Stack() {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(bottom(), bytes());
#endif
  munmap(mapping_, mapped_bytes_);
}

std::byte* Stack::bottom() const { return mapping_ + page_bytes(); }
std::size_t Stack::bytes() const { return mapped_bytes_ - page_bytes(); }

#ifdef PLUMBLINE_EMULATOR_ASSEMBLY

// void plumbline_emulator_switch(void** save, void* resume): the registers that System V lets a callee keep lie on the stack while a fiber
// is suspended. The floating-point control words are the same for all fibers. The jump, not ret: the return predictor cannot know.
asm(R"(
.text
.p2align 4
.globl plumbline_emulator_switch
.hidden plumbline_emulator_switch
.type plumbline_emulator_switch, @function
plumbline_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size plumbline_emulator_switch, .-plumbline_emulator_switch
)");
extern "C" void plumbline_emulator_switch(void** save, void* resume);

#endif

void Fiber::prepare([[maybe_unused]] Switching switching, void (*entry)()) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_->bottom(), stack_->bytes());  // what ran here before never returned
  fake_stack_ = nullptr;
#endif
  bottom_ = stack_->bottom();
  bytes_ = stack_->bytes();
#ifdef PLUMBLINE_EMULATOR_ASSEMBLY
  if (switching == Switching::assembly) {
    // As the switch leaves a suspended fiber: six registers, where to go on, and a return address (none) for entry, on whose arrival
    // rsp + 8 is a multiple of 16.
    auto** const top = reinterpret_cast<void**>(stack_->bottom() + stack_->bytes());
    for (void** slot = top - 8; slot < top; ++slot) *slot = nullptr;
    top[-2] = reinterpret_cast<void*>(entry);
    stack_pointer_ = top - 8;
    return;
  }
#endif
  if (!context_) context_ = std::make_unique<ucontext_t>();
  getcontext(context_.get());
  context_->uc_stack.ss_sp = stack_->bottom();
  context_->uc_stack.ss_size = stack_->bytes();
  context_->uc_link = nullptr;
  makecontext(context_.get(), entry, 0);
}

void Fiber::switch_to(Fiber& to, [[maybe_unused]] Switching switching, [[maybe_unused]] bool last) {
#ifdef __SANITIZE_ADDRESS__
  left = this;
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, to.bottom_, to.bytes_);
#endif
#ifdef PLUMBLINE_EMULATOR_ASSEMBLY
  if (switching == Switching::assembly) {
    plumbline_emulator_switch(&stack_pointer_, to.stack_pointer_);
    after_switch();
    return;
  }
#endif
  if (!context_) context_ = std::make_unique<ucontext_t>();
  swapcontext(context_.get(), to.context_.get());
  after_switch();
}

void Fiber::after_switch() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->bytes_);
#endif
}

void Fiber::entered() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &left->bottom_, &left->bytes_);
#endif
}

}  // namespace plumbline::emulator
