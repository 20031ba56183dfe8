/* Defines the variables that __builtin_cpu_supports reads, for the wheel's libraries and programs.
 * ziglang's runtime library has a stub without features (lib/compiler_rt/fmv.zig of 0.17.1, "a
 * conservative stub for now"); libgcc's is GPL with an exception that covers programs compiled with
 * GCC. Only the features that plumbline queries are set. Their bits are those that clang reads:
 *   echo 'int f() { return __builtin_cpu_supports("avx2"); }' | clang -O1 -S -x c -o - -
 * For cpuid, and for the test that the system saves the registers, see Intel, "Software Developer's
 * Manual", volume 1, 14.3 and 15.2. */
#include <cpuid.h>

struct cpu_model {
  unsigned vendor, type, subtype, features;
};
__attribute__((visibility("hidden"))) struct cpu_model __cpu_model;
__attribute__((visibility("hidden"))) unsigned __cpu_features2[4];

/* Returns true if the system saves the registers that `mask` names (XCR0). */
static int keeps(unsigned mask) {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & mask) == mask;
}

__attribute__((visibility("hidden"), constructor(101))) int __cpu_indicator_init(void) {
  unsigned a, b = 0, c = 0, d, b7 = 0, c7, d7, a71 = 0, b71, c71, d71, model = 0, more = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  __get_cpuid_count(7, 0, &a, &b7, &c7, &d7);
  __get_cpuid_count(7, 1, &a71, &b71, &c71, &d71);
  const int avx = keeps(0x6), avx512 = avx && keeps(0xe0);
  if (b7 & bit_BMI) model |= 1U << 16;
  if (b7 & bit_BMI2) model |= 1U << 17;
  if (avx && (b7 & bit_AVX2)) model |= 1U << 10;
  if (avx && (c & bit_FMA)) model |= 1U << 14;
  if (avx && (c & bit_F16C)) more |= 1U << 17;
  if (avx512 && (b7 & bit_AVX512F)) model |= 1U << 15;
  if (avx512 && (b7 & bit_AVX512VL)) model |= 1U << 20;
  if (avx512 && (b7 & bit_AVX512BW)) model |= 1U << 21;
  if (avx512 && (b7 & bit_AVX512DQ)) model |= 1U << 22;
  if (avx512 && (a71 & bit_AVX512BF16)) more |= 1U << 4;
  __cpu_model.features = model;
  __cpu_features2[0] = more;
  return 0;
}
