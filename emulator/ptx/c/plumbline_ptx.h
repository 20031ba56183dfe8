/* Compiled kernels on the emulator as a C library, libplumbline_ptx.so: PTX in, launches out. What
 * plumbline.triton calls through ctypes, and what any other host can call.
 *
 * Stable: functions and fields are only ever added, at the end, and PLUMBLINE_PTX_INTERFACE grows
 * with each addition. All functions may be called from several threads at once, but that a kernel
 * or a list of allocations must not be freed while a launch uses it. No C++ exception leaves the
 * library, and it exports nothing but these functions.
 *
 * An error is a text in the caller's buffer `error` of `error_bytes` bytes: cut off where it is
 * longer, ended by a zero, and empty where nothing went wrong. It says what failed, where, and what
 * helps. */
#ifndef PLUMBLINE_PTX_H
#define PLUMBLINE_PTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_PTX_INTERFACE 2

/* PLUMBLINE_PTX_INTERFACE of the library. */
int32_t plumbline_ptx_interface(void);

/* One entry of a PTX module: translated to C++, compiled by this machine's C++ compiler, loaded.
 * Serves every architecture. Has its own copy of the module's variables (.global, .const). */
typedef struct plumbline_ptx_kernel plumbline_ptx_kernel;

enum { PLUMBLINE_PTX_SEPARATE_PRODUCTS = 1 };

/* `text` has `bytes` bytes of PTX and one or more entries; `entry` is the name of one. Messages
 * call the text `name`: "softmax.ptx:41" is its line 41. `flags` is 0, or
 * PLUMBLINE_PTX_SEPARATE_PRODUCTS where products and sums stay apart (ptxas -fmad=false).
 *
 * The first load of a text takes the compiler about a second; it is kept in the folder
 * PLUMBLINE_PTX_CACHE (else plumbline/ptx in XDG_CACHE_HOME or ~/.cache). The compiler is
 * PLUMBLINE_PTX_CXX, else c++. An instruction that is not known is no error here, but of the launch
 * that reaches it. Returns NULL on an error, else what plumbline_ptx_unload frees. */
plumbline_ptx_kernel* plumbline_ptx_load(const char* text, size_t bytes, const char* entry,
                                         const char* name, uint32_t flags, char* error,
                                         size_t error_bytes);

/* NULL is allowed. */
void plumbline_ptx_unload(plumbline_ptx_kernel* kernel);

/* The parameters of the entry, in its order, lie in one block of plumbline_ptx_parameter_bytes
 * bytes: parameter `index` has `*bytes` bytes behind `*offset`. Returns 0, or 1 where there are not
 * so many. */
size_t plumbline_ptx_parameter_count(const plumbline_ptx_kernel* kernel);
size_t plumbline_ptx_parameter_bytes(const plumbline_ptx_kernel* kernel);
int32_t plumbline_ptx_parameter(const plumbline_ptx_kernel* kernel, size_t index, size_t* offset,
                                size_t* bytes);

/* Of a block, as the text declares it; dynamic shared memory comes on top. */
size_t plumbline_ptx_static_shared_bytes(const plumbline_ptx_kernel* kernel);

/* The memory that launches may touch, beside the module's variables and shared memory.
 *
 * The upper 16 bits of an address of global memory are a tag, 0 in addresses of the process
 * (interface 2). Memory that is added at an address with a tag is that of the lower 48 bits, for
 * pointers with the same tag. So a host gives each argument of a launch a fence of its own: it adds
 * the argument's memory at ADDRESS | TAG << 48 and passes that number as the pointer. */
typedef struct plumbline_ptx_allocations plumbline_ptx_allocations;

/* NULL only without memory. plumbline_ptx_allocations_free takes NULL. */
plumbline_ptx_allocations* plumbline_ptx_allocations_new(void);
void plumbline_ptx_allocations_free(plumbline_ptx_allocations* allocations);
/* Allocations of one tag must not overlap, and none of 0 bytes is added. What begins where one that
 * is there begins takes its place. */
void plumbline_ptx_allocations_add(plumbline_ptx_allocations* allocations, const void* begin,
                                   size_t bytes);
/* What was added there; nothing where nothing was. */
void plumbline_ptx_allocations_remove(plumbline_ptx_allocations* allocations, const void* begin);
void plumbline_ptx_allocations_clear(plumbline_ptx_allocations* allocations);

/* Which thread goes on where several could. A correct kernel gives the same bits under each. */
enum {
  PLUMBLINE_PTX_IN_ORDER = 0,
  PLUMBLINE_PTX_REVERSED = 1,
  PLUMBLINE_PTX_RANDOM = 2 /* from the seed */
};
/* What the lanes of a warp may count on: that they run together where they have not diverged, as
 * compiled code in fact does, or only what CUDA promises. */
enum { PLUMBLINE_PTX_LOCKSTEP = 0, PLUMBLINE_PTX_INDEPENDENT = 1 };

typedef struct plumbline_ptx_launch_options {
  const char* arch; /* whose tensor cores: "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100" */
  uint32_t grid[3];
  uint32_t block[3]; /* at most 1024 threads */
  size_t dynamic_shared_bytes;
  const void* parameters; /* plumbline_ptx_parameter_bytes bytes; read during the launch only */
  int32_t schedule;
  uint64_t seed;
  int32_t lanes;
  /* NULL: global memory is not checked, and a wild access ends the process. */
  const plumbline_ptx_allocations* allocations;
} plumbline_ptx_launch_options;

/* Runs all blocks, on all CPUs, and returns when they have ended: 0, or 1 with an error, which is
 * the one of the lowest block that has one. It names lines of the PTX, and of the source where the
 * PTX has line information. What the kernel wrote is then unspecified. */
int32_t plumbline_ptx_launch(const plumbline_ptx_kernel* kernel,
                             const plumbline_ptx_launch_options* options, char* error,
                             size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
