// The work of a problem: multiply-adds of visible pairs, and bytes that must be touched.
#pragma once

namespace plumbline {

class Geometry;

struct Work {
  // 2 (head_dim_qk + head_dim_vo) for each visible pair of a query row and a key, in every query
  // head: Q K^T and P V, a multiply-add counted as two. For a merge 2 head_dim_vo for each part.
  double flops = 0;
  // The bytes of Q, of visible keys of K and V, and of valid rows of the output, each once.
  double bytes = 0;
  // The part of both that no kernel can leave out. If P underflows, a kernel may skip P V and rows
  // of V, and with ALiBi even whole keys. So min_flops counts Q K^T of visible pairs (not with
  // ALiBi or for merges). min_bytes counts Q, visible keys of K (not with ALiBi), and the output.
  double min_flops = 0, min_bytes = 0;
};

Work work_of(const Geometry& geometry);

}  // namespace plumbline
