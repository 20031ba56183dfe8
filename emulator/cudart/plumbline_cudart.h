// What a program that runs on the emulated device may ask beyond CUDA's own functions: which
// architecture it is, in which order threads run, which memory of the host is the device's.
//
// libcudart.so of emulator/cudart takes the place of NVIDIA's. A program that was linked with the
// shared run-time runs on it unchanged, its kernels from the PTX that it carries. Without these
// functions the environment decides: PLUMBLINE_CUDART_ARCH=sm_90 (default: sm_80).
#ifndef PLUMBLINE_CUDART_H_
#define PLUMBLINE_CUDART_H_

#include <stddef.h>
#include <stdint.h>

#define PLUMBLINE_CUDART_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plumbline_cudart_schedule {
  PLUMBLINE_CUDART_IN_ORDER = 0,  // the first thread of a block that can run
  PLUMBLINE_CUDART_REVERSED = 1,  // the last one
  PLUMBLINE_CUDART_RANDOM = 2,    // any one, from the seed
} plumbline_cudart_schedule;

typedef struct plumbline_cudart_settings {
  uint32_t struct_size;
  char arch[32];               // "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100"
  uint32_t schedule;           // plumbline_cudart_schedule
  uint32_t independent_lanes;  // 0: the lanes of a warp run in lockstep where they can
  uint64_t seed;               // of PLUMBLINE_CUDART_RANDOM
  uint32_t separate_products;  // 1: no product and sum become one fma (ptxas -fmad=false)
  // For tests: the barriers and waits of this line of PTX are left out. 0: none.
  uint32_t skipped_line;
  // 1: launches are slower, and plumbline_cudart_take_sites knows of them.
  uint32_t collects_sites;
  uint32_t reserved;
} plumbline_cudart_settings;

// They hold for launches from now on. NULL, or what is wrong with them and would be right.
PLUMBLINE_CUDART_EXPORT const char* plumbline_cudart_configure(
    const plumbline_cudart_settings* settings);

// Memory of the host that kernels may touch, beside what cudaMalloc gave. A kernel that touches
// anything else is stopped, and its launch fails.
PLUMBLINE_CUDART_EXPORT void plumbline_cudart_add_memory(const void* begin, size_t bytes);
PLUMBLINE_CUDART_EXPORT void plumbline_cudart_remove_memory(const void* begin);

// What the last call of this thread that failed says: the kernel, the block, the thread, with lines
// of the PTX, and of the source where the PTX names them. "" where none has failed. Holds until the
// next call that fails.
PLUMBLINE_CUDART_EXPORT const char* plumbline_cudart_last_failure(void);

// For tests: the barriers and waits that launches have reached since the last call, one a line,
// with the number of that line of PTX: "1042 bar.sync". Returns how many bytes there are, with the
// terminating zero; fills as much as fits.
PLUMBLINE_CUDART_EXPORT size_t plumbline_cudart_take_sites(char* text, size_t bytes);

// Kernels that this process has launched so far, whichever thread did.
PLUMBLINE_CUDART_EXPORT uint64_t plumbline_cudart_launches(void);

#ifdef __cplusplus
}
#endif
#endif  // PLUMBLINE_CUDART_H_
