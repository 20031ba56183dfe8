// The switch from one stack to another. Translated kernels (emulator/ptx) include this at run time,
// so it uses only the standard library.
#pragma once

namespace plumbline::emulator {

#ifdef __x86_64__
// Suspends the running code, stores its stack pointer in `save`, and resumes the stack `resume`.
// The stack keeps the address to resume at and rbp. All other registers are clobbered, so the
// compiler saves those it needs. All fibers share the floating-point control words. The 128 bytes
// are the red zone of the function that this is inlined into.
__attribute__((always_inline)) inline void switch_stacks(void** save, void* resume) {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rcx\n\t"
      "pushq %%rcx\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rcx\n\t"
      "jmp *%%rcx\n"
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp\n\t"
      : "+D"(save), "+S"(resume)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#endif

}  // namespace plumbline::emulator
