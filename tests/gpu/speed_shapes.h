// The problems that are timed on a GPU, and their work.
#pragma once

#include "harness/problem/problem.h"

namespace plumbline::testing {

// FlashInfer issue 703 (story S4): paged decode in fp16.
inline Problem story_s4() {
  Problem problem;
  problem.dtype = DType::f16;
  problem.batch = 57;
  problem.heads_q = 32;
  problem.heads_kv = 8;
  problem.seq_q = 1;
  problem.seq_kv = 8192;
  problem.head_dim_qk = problem.head_dim_vo = 128;
  problem.layout = Layout::paged_nhd;
  problem.page_size = 16;
  problem.lse = false;
  problem.seed = 42;
  return problem;
}

inline Problem prefill_shape(DType dtype, Mask mask) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 4;
  problem.heads_q = problem.heads_kv = 32;
  problem.seq_q = problem.seq_kv = 2048;
  problem.head_dim_qk = problem.head_dim_vo = 128;
  problem.mask = mask;
  problem.lse = false;
  return problem;
}

// Returns the bytes of Q, K, V and the output, each once. Assumes full lengths and no LSE.
inline double bytes_once(const Problem& p) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const double keys = of(p.seq_kv * p.heads_kv), queries = of(p.seq_q * p.heads_q),
               dims = of(p.head_dim_qk + p.head_dim_vo);
  return of(p.batch) * dims *
         (keys * of(size_in_bytes(p.kv())) + queries * of(size_in_bytes(p.dtype)));
}

// Returns the multiplications and additions of Q K^T and P V for visible keys. Assumes no window,
// full lengths, and seq_q at most seq_kv.
inline double operations(const Problem& p) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const double all = of(p.seq_q) * of(p.seq_kv),
               hidden = p.mask == Mask::none ? 0 : of(p.seq_q) * of(p.seq_q - 1) / 2;
  return 2 * of(p.batch * p.heads_q) * (all - hidden) * of(p.head_dim_qk + p.head_dim_vo);
}

}  // namespace plumbline::testing
