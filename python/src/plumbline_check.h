/* The judge as a C library, libplumbline_check.so, which the Python package calls through ctypes.
 *
 * Stable: functions and fields are only ever added, at the end, and PLUMBLINE_CHECK_INTERFACE grows
 * with each addition. All functions but plumbline_check_command may be called from several threads
 * at once. No C++ exception leaves the library, and it exports only these functions. */
#ifndef PLUMBLINE_CHECK_H
#define PLUMBLINE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_CHECK_INTERFACE 3

/* A tensor in host memory, contiguous, row major. The caller owns it; the library only reads it,
 * during the call. */
typedef struct plumbline_check_tensor {
  const char* name;     /* "q", "out", "cu_seqlens", … (docs/dump-format.md) */
  const char* dtype;    /* name of safetensors: "F32", "BF16", "F8_E4M3", "I32", "BOOL", … */
  const int64_t* shape; /* `rank` extents in elements */
  int32_t rank;
  const void* data;
  size_t bytes; /* must be the product of the shape and the dtype's size */
} plumbline_check_tensor;

/* One attention call (docs/dump-format.md). */
typedef struct plumbline_check_dump {
  const char* name;                      /* its name in reports */
  const plumbline_check_tensor* tensors; /* `count` of them */
  size_t count;
  const char* attributes; /* a JSON object of texts: {"mask": "causal_top_left", …} */
} plumbline_check_dump;

typedef enum plumbline_check_status {
  PLUMBLINE_CHECK_OK = 0,
  PLUMBLINE_CHECK_NO_PROBLEM = 1, /* the arrays are not an attention problem; the text says why */
  PLUMBLINE_CHECK_INTERNAL = 2,   /* out of memory, or a bug in plumbline */
  /* The spec is a rounding model of the ladder, but not for inputs of this dtype; the first line
   * of the text names the spec. Up to interface 1 this was NO_PROBLEM. */
  PLUMBLINE_CHECK_SPEC_OF_OTHER_DTYPE = 3
} plumbline_check_status;

/* Returns "0.1.0"; valid as long as the library. */
const char* plumbline_check_version(void);
/* Returns the library's PLUMBLINE_CHECK_INTERFACE. */
int32_t plumbline_check_interface(void);
/* Returns the outputs beyond `out` that a dump may contain, comma-separated: "lse". Valid as long
 * as the library. Since interface 3. */
const char* plumbline_check_row_outputs(void);

/* Judges a dump's output. `answer` receives a text, to be released with plumbline_check_free: on
 * PLUMBLINE_CHECK_OK a JSON object
 *   answer    "ROUNDING", "BUG" or "UNDECIDED"
 *   sentence  why, in one line
 *   percent   of the limit, in the statistic nearest to it: a number as text, also "inf" or "nan"
 *   text      the output of `plumbline check` into a pipe
 *   report    the same for plumbline_check_print, since interface 2
 *   report_in_full  the same for `plumbline check -v`
 *   data      the `data` of `plumbline check --format json` (docs/json.md)
 * and otherwise every error that was found, as text. */
plumbline_check_status plumbline_check(const plumbline_check_dump* dump, char** answer);

/* Decides whether the roundings of both outputs explain their differences. `answer` receives the
 * same fields as from plumbline_check, with the output of `plumbline diff`. */
plumbline_check_status plumbline_check_diff(const plumbline_check_dump* a,
                                            const plumbline_check_dump* b, char** answer);

/* Lays out the `report` or `report_in_full` of an answer, since interface 2. `text` receives the
 * output of `plumbline check` or `plumbline diff`, without colors, and is released like an answer.
 * width    columns of a line; 0: as into a pipe, with commands on one line
 * taken    columns of the first line that the caller's text occupies
 * verbose  0: at most twelve lines */
plumbline_check_status plumbline_check_print(const char* report, int32_t width, int32_t taken,
                                             int32_t verbose, char** text);

/* NULL is allowed. */
void plumbline_check_free(char* answer);

/* Runs the command `plumbline` with this library's subcommands: `check`, and `diff` of two dumps.
 * Takes main()'s arguments, prints to stdout and stderr, and returns the exit code. Call it once,
 * in a process that does nothing else. Since interface 2. */
int32_t plumbline_check_command(int32_t argc, const char* const* argv);

#ifdef __cplusplus
}
#endif

#endif
