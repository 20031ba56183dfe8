// Maps stacks with a guard page, switches fibers, and reports each switch to AddressSanitizer.
#include "emulator/machine/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
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

Stack::Stack(std::size_t bytes)
    : mapped_bytes_((bytes + page_bytes() - 1) / page_bytes() * page_bytes() + page_bytes()) {
  void* const mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

void Fiber::prepare([[maybe_unused]] Switching switching, void (*entry)()) {
#ifdef __SANITIZE_ADDRESS__
  // the previous code on this stack never returned
  __asan_unpoison_memory_region(stack_->bottom(), stack_->bytes());
  fake_stack_ = nullptr;
#endif
  bottom_ = stack_->bottom();
  bytes_ = stack_->bytes();
#ifdef PLUMBLINE_EMULATOR_ASSEMBLY
  if (switching == Switching::assembly) {
    // The stack as a switch leaves it: the address to resume at, and above it the return address of
    // `entry`, which is null. When `entry` starts, rsp + 8 is a multiple of 16, as the ABI demands.
    auto** const top = reinterpret_cast<void**>(stack_->bottom() + stack_->bytes() - stagger_);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(entry);
    stack_pointer_ = top - 2;
    return;
  }
#endif
  if (!context_) context_ = std::make_unique<ucontext_t>();
  getcontext(context_.get());
  context_->uc_stack.ss_sp = stack_->bottom();
  context_->uc_stack.ss_size = stack_->bytes() - stagger_;
  context_->uc_link = nullptr;
  makecontext(context_.get(), entry, 0);
}

void Fiber::switch_by_ucontext(Fiber& to) {
  if (!context_) context_ = std::make_unique<ucontext_t>();
  swapcontext(context_.get(), to.context_.get());
}

#ifdef __SANITIZE_ADDRESS__
void Fiber::before_switch(const Fiber& to, bool last) {
  left = this;
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, to.bottom_, to.bytes_);
}
void Fiber::after_switch() {
  __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->bytes_);
}
#endif

void Fiber::entered() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &left->bottom_, &left->bytes_);
#endif
}

}  // namespace plumbline::emulator
