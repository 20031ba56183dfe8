// Refuses a CPU that plumbline was not compiled for, before any code for AVX2 runs. This file is
// compiled for any x86-64, and avoids the C++ library, whose inline functions may be compiled for
// AVX2.
#include <unistd.h>

#include <cstring>

namespace {

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// The compiler reserves priorities up to 100. 101 precedes all other static initialisation.
[[gnu::constructor(101)]] void check_cpu() {
  __builtin_cpu_init();
  const bool fits = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (fits) return;
  say("plumbline: this CPU lacks AVX2, FMA or BMI2 (x86-64-v3)\n"
      "  remedy: use a machine with a CPU of 2015 or newer; give an emulator such as QEMU the "
      "option -cpu max\n");
  _exit(3);  // exit_infrastructure
}

}  // namespace
