/* The C ABI of a library that computes the reference on a device other than the CPU, such as a GPU.
 *
 * It is opened at run time (harness/reference/reference_library.h). The harness passes rows, the
 * keys each row sees, and the numbers of the rounding spec. The library returns attention and the
 * variances of legal error before output rounding, in fp64 and by the formulas of
 * docs/judging-formulas.md. All memory belongs to the caller and is on the host. Ranges of keys
 * express masks, offsets express layouts and paging. */
#ifndef PLUMBLINE_REFERENCE_H
#define PLUMBLINE_REFERENCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMBLINE_REFERENCE_ABI 4u

/* Symbols as in docs/judging-formulas.md; 0 for a rounding that is not made. */
typedef struct plumbline_reference_accumulator {
  double u;            /* unit roundoff of one addition */
  double f, f_out;     /* truncation inside a step and of its result; 0 unless toward_zero */
  double step;         /* L, products per step */
  int32_t toward_zero; /* boolean */
  int32_t reserved;
} plumbline_reference_accumulator;

typedef struct plumbline_reference_model {
  double u_p, eta_p; /* P; eta in units of exp(s - m) */
  double p_normal;   /* smallest normal P, in those units */
  double u_s, eta_s; /* S */
  double u_split, eta_split;
  int32_t p_cell_bits; /* keys whose t agree when rounded to these bits share a cell of P */
  int32_t s_cell_bits;
  int32_t denominator_from_rounded_p; /* boolean */
  int32_t reserved;
  plumbline_reference_accumulator qk, pv;
} plumbline_reference_model;

/* Keys of one (sample, key head): offsets[first] to offsets[first + count - 1] of the request. */
typedef struct plumbline_reference_group {
  int64_t first, count;
} plumbline_reference_group;

/* A query row: it sees keys [begin, end) of its group, at least one. */
typedef struct plumbline_reference_row {
  int64_t group;
  int64_t begin, end;
} plumbline_reference_row;

typedef struct plumbline_reference_request {
  uint32_t struct_size;
  uint32_t dtype; /* k and v: plumbline_dtype of the provider ABI; fp32, fp16 or bf16 */
  int64_t dim_qk, dim_vo;
  double scale;      /* s = scale q . k, in natural units */
  const double* q;   /* [rows, dim_qk], prescaled and rounded if the spec requires it */
  const void *k, *v; /* stored tensors */
  uint64_t k_bytes, v_bytes;
  /* [offset_count] element 0 of each key's vector, in elements from k; the vector is contiguous */
  const int64_t* k_offsets;
  const int64_t* v_offsets; /* [offset_count] in elements from v, as for k */
  int64_t offset_count;
  const plumbline_reference_group* groups;
  int64_t group_count;
  const plumbline_reference_row* rows;
  int64_t row_count;
  plumbline_reference_model model;
  /* Results. */
  double* o;            /* [rows, dim_vo] */
  double* variance;     /* [rows, dim_vo] spre^2 */
  double* bound;        /* [rows, dim_vo] worst case, before output rounding */
  double* lse;          /* [rows] natural logarithm */
  double* lse_variance; /* [rows] */
  /* [rows] 1 if the row's P have few values or its addends repeat ("Local kappa", "Flat rows" and
   * S_t of TA), otherwise 0. The variances of such a row omit these effects; the caller recomputes
   * the row. */
  int32_t* repeats;
} plumbline_reference_request;

typedef struct plumbline_reference_library {
  uint32_t abi;
  uint32_t struct_size;
  int32_t (*device_count)(void);    /* number of usable devices; 0: cannot be used here */
  const char* (*device_name)(void); /* the device in use; valid as long as the library */
  /* Returns NULL, or an error message that is valid until the thread's next call. May be called
   * from several threads. */
  const char* (*compute)(const plumbline_reference_request* request);
} plumbline_reference_library;

/* The only symbol: const plumbline_reference_library* plumbline_reference(void); */
#define PLUMBLINE_REFERENCE_SYMBOL "plumbline_reference"

#ifdef __cplusplus
}
#endif
#endif
