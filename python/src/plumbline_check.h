/* The judge as a C library, libplumbline_check.so: what the Python package calls through ctypes.
 *
 * Stable: functions and fields are only ever added, at the end, and PLUMBLINE_CHECK_INTERFACE grows
 * with each addition. All functions may be called from several threads at once. No C++ exception
 * leaves the library, and it exports nothing but these functions. */
#ifndef PLUMBLINE_CHECK_H
#define PLUMBLINE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_CHECK_INTERFACE 3

/* A tensor in host memory, contiguous, row major. Nothing is owned by the library, which only
 * reads, and only during the call. */
typedef struct plumbline_check_tensor {
  const char* name;     /* "q", "out", "cu_seqlens", …: docs/dump-format.md */
  const char* dtype;    /* as safetensors spells it: "F32", "BF16", "F8_E4M3", "I32", "BOOL", … */
  const int64_t* shape; /* `rank` extents in elements */
  int32_t rank;
  const void* data;
  size_t bytes; /* has to be the product of the shape and the size of the dtype */
} plumbline_check_tensor;

/* One attention call: docs/dump-format.md. */
typedef struct plumbline_check_dump {
  const char* name;                      /* what reports call it */
  const plumbline_check_tensor* tensors; /* `count` of them */
  size_t count;
  const char* attributes; /* a JSON object of texts: {"mask": "causal_top_left", …} */
} plumbline_check_dump;

typedef enum plumbline_check_status {
  PLUMBLINE_CHECK_OK = 0,
  PLUMBLINE_CHECK_NO_PROBLEM = 1, /* the arrays make no attention problem: the text says why */
  PLUMBLINE_CHECK_INTERNAL = 2,   /* out of memory, or a fault of plumbline's */
  /* The spec is a rung of the ladder, but not for inputs of this dtype, as the first line of the
   * text says. Up to interface 1 this was NO_PROBLEM. */
  PLUMBLINE_CHECK_SPEC_OF_OTHER_DTYPE = 3
} plumbline_check_status;

/* "0.1.0"; lives as long as the library. */
const char* plumbline_check_version(void);
/* PLUMBLINE_CHECK_INTERFACE of the library. */
int32_t plumbline_check_interface(void);
/* The names of the outputs beyond `out` that a dump may hold, with commas between them: "lse".
 * Lives as long as the library. Since interface 3. */
const char* plumbline_check_row_outputs(void);

/* Judges a dump's output. `answer` becomes a text that plumbline_check_free releases: on
 * PLUMBLINE_CHECK_OK a JSON object
 *   answer    "ROUNDING", "BUG" or "UNDECIDED"
 *   sentence  why, in one line
 *   percent   of the limit, in the statistic nearest to it: a number as text, "inf" or "nan" too
 *   text      what `plumbline check` prints into a pipe
 *   report    the same for plumbline_check_print, since interface 2
 *   report_in_full  … and what `plumbline check -v` prints
 *   data      the `data` of `plumbline check --format json` (docs/json.md)
 * and otherwise every error that was found, for people. */
plumbline_check_status plumbline_check(const plumbline_check_dump* dump, char** answer);

/* Are the differences of two outputs explained by what both round? As plumbline_check, with what
 * `plumbline diff` prints. */
plumbline_check_status plumbline_check_diff(const plumbline_check_dump* a,
                                            const plumbline_check_dump* b, char** answer);

/* Lays out the `report` or `report_in_full` of an answer, since interface 2: `text` becomes what
 * `plumbline check` or `plumbline diff` prints, without colours, and is released like an answer.
 * width    columns of a line; 0: of a pipe, with commands on one line
 * taken    columns of the first line that the caller fills
 * verbose  0: at most twelve lines */
plumbline_check_status plumbline_check_print(const char* report, int32_t width, int32_t taken,
                                             int32_t verbose, char** text);

/* NULL is allowed. */
void plumbline_check_free(char* answer);

/* The command `plumbline` with what this library can do: `check`, and `diff` of two dumps. Reads
 * the arguments as main() gets them, prints to stdout and stderr, and returns the exit code. To be
 * called once, by a process that does nothing else. Since interface 2. */
int32_t plumbline_check_command(int32_t argc, const char* const* argv);

#ifdef __cplusplus
}
#endif

#endif
