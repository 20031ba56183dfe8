// Converts a run request with its problem, tensors and strides into the structs of the protocol.
#include "harness/provider/client/to_wire.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace plumbline {

namespace {

protocol::Tensor tensor_to_wire(std::string name, const Slot& slot, const TensorShape& shape) {
  protocol::Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = static_cast<std::uint32_t>(shape.dtype);
  tensor.extent.assign(shape.extent.begin(), shape.extent.begin() + shape.rank);
  tensor.stride.assign(shape.stride.begin(), shape.stride.begin() + shape.rank);
  const std::size_t first = static_cast<std::size_t>(shape.first) * size_in_bytes(shape.dtype);
  tensor.offset = slot.offset + std::min(first, slot.bytes);
  tensor.bytes = shape.elements == 0 ? 0 : shape.bytes();
  tensor.page_begin = slot.page_begin;
  tensor.page_end = slot.page_end;
  tensor.access = slot.access == Access::write ? "write" : "read";
  return tensor;
}

TensorShape dense_shape(DType dtype, std::initializer_list<std::int64_t> extent) {
  TensorShape shape;
  shape.dtype = dtype;
  shape.rank = static_cast<int>(extent.size());
  std::ranges::copy(extent, shape.extent.begin());
  std::int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    shape.stride[static_cast<std::size_t>(i)] = stride;
    stride *= shape.extent[static_cast<std::size_t>(i)];
  }
  shape.elements = stride;
  return shape;
}

// Returns [batch, heads], with a third dimension of blocks if tokens have scales of their own. A
// stride is 0 if one scale serves the whole dimension.
TensorShape scale_shape(const Problem& p, std::int64_t heads, std::int64_t seq) {
  if (p.scale_tokens() > 0) return dense_shape(DType::f32, {p.batch, heads, scale_blocks(p, seq)});
  TensorShape shape = dense_shape(DType::f32, {p.batch, heads});
  if (p.kv_scales != KvScales::batch_head) shape.stride[0] = 0;
  if (p.kv_scales == KvScales::tensor) shape.stride[1] = 0;
  return shape;
}

TensorShape index_shape(std::int64_t rows) { return dense_shape(DType::i32, {rows}); }

}  // namespace

plumbline_problem problem_to_wire(const Geometry& geometry) {
  const Problem& p = geometry.problem();
  plumbline_problem wire{};
  wire.struct_size = sizeof wire;
  wire.dtype_q = static_cast<std::uint32_t>(p.dtype);
  wire.dtype_kv = static_cast<std::uint32_t>(p.kv());
  wire.dtype_out = static_cast<std::uint32_t>(p.out());
  wire.layout = static_cast<std::uint32_t>(p.layout);
  wire.mask = p.is_merge()        ? static_cast<std::uint32_t>(PLUMBLINE_MASK_NONE)
              : p.has_mask_bits() ? static_cast<std::uint32_t>(PLUMBLINE_MASK_CUSTOM)
                                  : static_cast<std::uint32_t>(p.mask);
  wire.padding = static_cast<std::uint32_t>(p.padding);
  wire.lse_wanted = p.lse ? 1 : 0;
  wire.batch = p.batch;
  wire.heads_q = p.heads_q;
  wire.heads_kv = p.heads_kv;
  wire.seq_q = p.seq_q;
  wire.seq_kv = p.seq_kv;
  wire.head_dim_qk = p.head_dim_qk;
  wire.head_dim_vo = p.head_dim_vo;
  wire.total_q = geometry.total_q();
  wire.total_kv = geometry.total_kv();
  wire.page_size = p.is_paged() ? p.page_size : 0;
  wire.page_count = p.is_paged() ? geometry.page_count() : 0;
  wire.window_left = p.window_left;
  wire.window_right = p.window_right;
  wire.scale = p.softmax_scale();
  wire.softcap = p.softcap;
  wire.has_alibi = p.alibi != Alibi::none ? 1 : 0;
  wire.has_sink = p.sinks != Sinks::none ? 1 : 0;
  wire.scale_tokens = p.scale_tokens();
  wire.question = p.is_merge() ? PLUMBLINE_MERGE : PLUMBLINE_ATTENTION;
  wire.merge_lse_base = p.merge == Merge::base_2 ? 2 : 0;
  return wire;
}

std::vector<protocol::Tensor> tensors_to_wire(const RunRequest& request, const Arena& arena) {
  const Geometry& g = *request.geometry;
  const Problem& p = g.problem();
  const std::int64_t batch = p.batch;
  struct Named {
    const char* name;
    int slot;
    TensorShape shape;
  };
  std::vector<Named> tensors{{"q", request.q, g.q},
                             {"k", request.k, g.k},
                             {"v", request.v, g.v},
                             {"out", request.out, g.out}};
  for (const RowOutput output : all<RowOutput>())
    tensors.push_back({name(output).data(), request.slot_of(output), g.row_shape});
  tensors.insert(
      tensors.end(),
      {{"cu_seqlens_q", request.cu_seqlens_q, index_shape(batch + 1)},
       {"cu_seqlens_kv", request.cu_seqlens_kv, index_shape(batch + 1)},
       {"seqlens_q", request.seqlens_q, index_shape(batch)},
       {"seqlens_kv", request.seqlens_kv, index_shape(batch)},
       {"page_table", request.page_table, dense_shape(DType::i32, {batch, g.pages_per_sample})},
       {"mask", request.mask, dense_shape(DType::i32, {batch, p.seq_q, g.mask_words})},
       {"alibi_slopes", request.alibi_slopes, dense_shape(DType::f32, {p.heads_q})},
       {"sinks", request.sinks, dense_shape(DType::f32, {p.heads_q})},
       {"q_scale", request.q_scale, scale_shape(p, p.heads_q, p.seq_q)},
       {"k_scale", request.k_scale, scale_shape(p, p.heads_kv, p.seq_kv)},
       {"v_scale", request.v_scale, scale_shape(p, p.heads_kv, p.seq_kv)},
       {"out_scale", request.out_scale, dense_shape(DType::f32, {1})}});
  std::vector<protocol::Tensor> wire;
  for (const Named& tensor : tensors) {
    if (tensor.slot >= 0)
      wire.push_back(tensor_to_wire(tensor.name, arena.slot(static_cast<std::size_t>(tensor.slot)),
                                    tensor.shape));
  }
  return wire;
}

}  // namespace plumbline
