// The block of rows that the parts of a mutant's kernel work on, and their scratch memory.
#pragma once

#include <limits>

#include "kernels/cpu/workspace.h"
#include "kernels/mutants/sequence.h"

namespace plumbline::mutants {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
inline constexpr std::int64_t max_splits = 16;

// Rows [first, first + rows) of one query head. `first` is an index of the sample's query tokens.
struct Block {
  std::int64_t sample = 0, head = 0, first = 0, rows = 0;
};

struct Scratch {
  std::int64_t width_qk, width_vo;  // head dimensions, rounded up to 8
  float* q;                         // [block_rows, width_qk]
  float* k_t;                       // [width_qk, 128]  transposed
  float* row_of_k;                  // [width_qk]
  float* v;                         // [128, width_vo]
  float* s;                         // [block_rows, 128]  S, then P
  float* m;                         // [block_rows]  running maximum, in units of log2
  float* l;                         // [block_rows]  running sum of P
  float* rescale;                   // [block_rows]  2^(m - m')
  float* step;                      // [block_rows]  the last tile's maximum
  float* out;                       // [block_rows, width_vo]  O
  float* lse;                       // [block_rows]  in units of log2
  float* product;                   // [width_vo]
  float* partial_out;               // [max_splits, block_rows, width_vo]
  float* partial_lse;               // [max_splits, block_rows]
  float* before;                    // [block_rows, width_vo]  O and lse before the last tile
  float* lse_before;                // [block_rows]
  std::uint32_t* arrived;           // [8]  counters of the splits' blocks; never cleared

  Scratch(const plumbline_problem& problem, cpu::Workspace& w)
      : width_qk(cpu::round_up(problem.head_dim_qk, 8)),
        width_vo(cpu::round_up(problem.head_dim_vo, 8)),
        q(w.take<float>(block_rows * width_qk)),
        k_t(w.take<float>(width_qk * max_tile_keys)),
        row_of_k(w.take<float>(width_qk)),
        v(w.take<float>(max_tile_keys * width_vo)),
        s(w.take<float>(block_rows * max_tile_keys)),
        m(w.take<float>(block_rows)),
        l(w.take<float>(block_rows)),
        rescale(w.take<float>(block_rows)),
        step(w.take<float>(block_rows)),
        out(w.take<float>(block_rows * width_vo)),
        lse(w.take<float>(block_rows)),
        product(w.take<float>(width_vo)),
        partial_out(w.take<float>(max_splits * block_rows * width_vo)),
        partial_lse(w.take<float>(max_splits * block_rows)),
        before(w.take<float>(block_rows * width_vo)),
        lse_before(w.take<float>(block_rows)),
        arrived(w.take<std::uint32_t>(8)) {}

  static constexpr std::int64_t max_tile_keys = 128;
};

}  // namespace plumbline::mutants
