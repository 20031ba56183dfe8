/* The C library libplumbline_ptx.so: loads PTX and launches its kernels on the emulator.
 * plumbline.triton calls it through ctypes; any other host can use it.
 *
 * The interface is stable: functions and fields are only added, at the end, and
 * PLUMBLINE_PTX_INTERFACE grows with each addition. All functions may be called from several
 * threads at once, but a kernel or a list of allocations must not be freed while a launch uses it.
 * No C++ exception leaves the library, and it exports only these functions.
 *
 * Errors are texts in the caller's buffer `error` of `error_bytes` bytes: truncated if necessary,
 * zero-terminated, and empty on success. They name the failure, often with its place and a remedy.
 */
#ifndef PLUMBLINE_PTX_H
#define PLUMBLINE_PTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_PTX_INTERFACE 2

/* Returns the library's PLUMBLINE_PTX_INTERFACE. */
int32_t plumbline_ptx_interface(void);

/* One entry of a PTX module: translated to C++, compiled by this machine's C++ compiler, loaded.
 * Works for every architecture. Has its own copy of the module's variables (.global, .const). */
typedef struct plumbline_ptx_kernel plumbline_ptx_kernel;

enum { PLUMBLINE_PTX_SEPARATE_PRODUCTS = 1 };

/* Loads the entry `entry` of `text`, `bytes` bytes of PTX with one or more entries. Messages call
 * the text `name`: "softmax.ptx:41" is its line 41. `flags` is 0, or
 * PLUMBLINE_PTX_SEPARATE_PRODUCTS if products and sums must not be fused (ptxas -fmad=false).
 *
 * The first load of a text compiles it, which takes about a second. The result is cached in the
 * folder PLUMBLINE_PTX_CACHE (otherwise plumbline/ptx in XDG_CACHE_HOME or ~/.cache). The compiler
 * is PLUMBLINE_PTX_CXX, otherwise c++. An unknown instruction is not an error here, but fails the
 * launch that reaches it. Returns NULL on an error; plumbline_ptx_unload frees the result. */
plumbline_ptx_kernel* plumbline_ptx_load(const char* text, size_t bytes, const char* entry,
                                         const char* name, uint32_t flags, char* error,
                                         size_t error_bytes);

/* `kernel` may be NULL. */
void plumbline_ptx_unload(plumbline_ptx_kernel* kernel);

/* The parameters of the entry are one block of plumbline_ptx_parameter_bytes bytes, in the entry's
 * order: parameter `index` has `*bytes` bytes at `*offset`. plumbline_ptx_parameter returns 0, or 1
 * if `index` is out of range. */
size_t plumbline_ptx_parameter_count(const plumbline_ptx_kernel* kernel);
size_t plumbline_ptx_parameter_bytes(const plumbline_ptx_kernel* kernel);
int32_t plumbline_ptx_parameter(const plumbline_ptx_kernel* kernel, size_t index, size_t* offset,
                                size_t* bytes);

/* Returns the static shared memory of a block; dynamic shared memory is additional. */
size_t plumbline_ptx_static_shared_bytes(const plumbline_ptx_kernel* kernel);

/* The memory that launches may access, in addition to the module's variables and shared memory.
 *
 * Since interface 2, the upper 16 bits of a global address are a tag (0 in a process's addresses).
 * Memory added at a tagged address lies at its lower 48 bits; only pointers with the same tag
 * reach it. With a tag for each argument of a launch, a host detects accesses through
 * one argument to another's memory: it adds the argument's memory at ADDRESS | TAG << 48 and passes
 * that number as the pointer. */
typedef struct plumbline_ptx_allocations plumbline_ptx_allocations;

/* Returns NULL only if memory is exhausted. plumbline_ptx_allocations_free accepts NULL. */
plumbline_ptx_allocations* plumbline_ptx_allocations_new(void);
void plumbline_ptx_allocations_free(plumbline_ptx_allocations* allocations);
/* Adds an allocation, or replaces the one with the same `begin`. Allocations with one tag must not
 * overlap; those of 0 bytes are ignored. */
void plumbline_ptx_allocations_add(plumbline_ptx_allocations* allocations, const void* begin,
                                   size_t bytes);
/* Does nothing if no allocation begins at `begin`. */
void plumbline_ptx_allocations_remove(plumbline_ptx_allocations* allocations, const void* begin);
void plumbline_ptx_allocations_clear(plumbline_ptx_allocations* allocations);

/* Which thread runs next if several can. A correct kernel gives the same bits under each. */
enum {
  PLUMBLINE_PTX_IN_ORDER = 0,
  PLUMBLINE_PTX_REVERSED = 1,
  PLUMBLINE_PTX_RANDOM = 2 /* from the seed */
};
/* LOCKSTEP: the lanes of a warp run together unless they have diverged; compiled code relies on it.
 * INDEPENDENT: only CUDA's guarantees. */
enum { PLUMBLINE_PTX_LOCKSTEP = 0, PLUMBLINE_PTX_INDEPENDENT = 1 };

typedef struct plumbline_ptx_launch_options {
  const char* arch; /* "sm_90": an emulated one of emulator/architectures.csv */
  uint32_t grid[3];
  uint32_t block[3]; /* at most 1024 threads */
  size_t dynamic_shared_bytes;
  const void* parameters; /* plumbline_ptx_parameter_bytes bytes; read during the launch only */
  int32_t schedule;
  uint64_t seed;
  int32_t lanes;
  /* NULL: global memory is not checked, and an invalid access ends the process. */
  const plumbline_ptx_allocations* allocations;
} plumbline_ptx_launch_options;

/* Runs all blocks on all CPUs and waits for them. Returns 0, or 1 with the error of the first
 * failed block (by index). The error names lines of the PTX, and of the source if the PTX has line
 * information. After an error the kernel's outputs are unspecified. */
int32_t plumbline_ptx_launch(const plumbline_ptx_kernel* kernel,
                             const plumbline_ptx_launch_options* options, char* error,
                             size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
