// Functions beyond CUDA's own, for a program on the emulated device: they select architecture and
// thread order, and register host memory.
//
// libcudart.so of emulator/cudart replaces NVIDIA's. A program linked with the shared run-time runs
// unchanged, with kernels from the PTX inside the program. Without these functions the
// environment selects the architecture: PLUMBLINE_CUDART_ARCH=sm_90 (default: sm_80).
#ifndef PLUMBLINE_CUDART_H_
#define PLUMBLINE_CUDART_H_

#include <stddef.h>
#include <stdint.h>

#define PLUMBLINE_CUDART_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plumbline_cudart_schedule {
  PLUMBLINE_CUDART_IN_ORDER = 0,  // the first runnable thread of a block
  PLUMBLINE_CUDART_REVERSED = 1,  // the last runnable thread
  PLUMBLINE_CUDART_RANDOM = 2,    // any runnable thread, by the seed
} plumbline_cudart_schedule;

typedef struct plumbline_cudart_settings {
  uint32_t struct_size;
  char arch[32];               // "sm_90": an emulated one of emulator/architectures.csv
  uint32_t schedule;           // plumbline_cudart_schedule
  uint32_t independent_lanes;  // 0: the lanes of a warp run in lockstep if they can
  uint64_t seed;               // for PLUMBLINE_CUDART_RANDOM
  uint32_t separate_products;  // 1: products and sums are not contracted to fma (ptxas -fmad=false)
  // For tests: skips the barriers and waits of this line of PTX. 0: none.
  uint32_t skipped_line;
  // 1: launches record their barriers and waits for plumbline_cudart_take_sites, and are slower.
  uint32_t collects_sites;
  uint32_t reserved;
} plumbline_cudart_settings;

// Applies the settings to later launches. Returns NULL or an error with the valid values.
PLUMBLINE_CUDART_EXPORT const char* plumbline_cudart_configure(
    const plumbline_cudart_settings* settings);

// Adds host memory that kernels may access, besides that of cudaMalloc. A kernel that accesses
// anything else is stopped, and its launch fails.
PLUMBLINE_CUDART_EXPORT void plumbline_cudart_add_memory(const void* begin, size_t bytes);
PLUMBLINE_CUDART_EXPORT void plumbline_cudart_remove_memory(const void* begin);

// Returns the text of this thread's last failed call: the kernel, block and thread, with lines of
// the PTX, and of the source if the PTX names them. "" if none has failed. Valid until the next
// failing call.
PLUMBLINE_CUDART_EXPORT const char* plumbline_cudart_last_failure(void);

// For tests: returns the barriers and waits that launches reached since the last call, one per
// line, with the line of PTX: "1042 bar.sync". Writes as much as fits, and returns the total size
// with the terminating zero.
PLUMBLINE_CUDART_EXPORT size_t plumbline_cudart_take_sites(char* text, size_t bytes);

// Returns the number of kernels that this process has launched, on all threads.
PLUMBLINE_CUDART_EXPORT uint64_t plumbline_cudart_launches(void);

#ifdef __cplusplus
}
#endif
#endif  // PLUMBLINE_CUDART_H_
