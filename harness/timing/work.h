// The work that a problem asks for: multiply-adds of visible pairs, and bytes that must be touched.
#pragma once

namespace plumbline {

class Geometry;

struct Work {
  // 2 (head_dim_qk + head_dim_vo) for each visible pair of a query row and a key, in every query
  // head: Q K^T and P V, a multiply-add counted as two. Of a merge 2 head_dim_vo for each part.
  double flops = 0;
  // Of Q, visible keys of K and V, and valid rows of the output, each once.
  double bytes = 0;
  // The part of both that no kernel can leave out. Where P underflows a kernel may skip P V and
  // rows of V, and with ALiBi even whole keys: what is left is Q K^T of visible pairs (with ALiBi
  // and of merges nothing), and the bytes of Q, of visible keys of K (with ALiBi none) and of the
  // output.
  double least_flops = 0, least_bytes = 0;
};

Work work_of(const Geometry& geometry);

}  // namespace plumbline
