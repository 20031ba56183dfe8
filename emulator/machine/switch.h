// The switch from one stack to another. Translated kernels contain it as well (emulator/ptx), which
// a compiler meets at run time: the standard library alone.
#pragma once

namespace plumbline::emulator {

#ifdef __x86_64__
// Suspends what runs: `save` gets its stack pointer, and what `resume` says goes on. Leaves the
// place to go on and rbp on the stack; the compiler itself keeps what else it needs, since every
// other register is given up. The floating-point control words are the same for all fibers. 128
// bytes: the red zone of the function that this becomes part of.
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
