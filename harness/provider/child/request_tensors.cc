// Finds the fields of the C ABI's structs by the names of the worker protocol.
#include "harness/provider/child/request_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "harness/provider/child/call.h"

namespace plumbline {

plumbline_device to_device(const protocol::Device& d) {
  plumbline_device device{};
  device.struct_size = sizeof device;
  device.memory_space = d.memory_space;
  device.ordinal = d.ordinal;
  std::copy_n(d.arch.data(), std::min(d.arch.size(), sizeof device.arch - 1), device.arch);
  return device;
}

plumbline_tensor* find_field(plumbline_tensors& tensors, std::string_view name) {
  if (name == "q") return &tensors.q;
  if (name == "k") return &tensors.k;
  if (name == "v") return &tensors.v;
  if (name == "out") return &tensors.out;
  if (name == "lse") return &tensors.lse;
  if (name == "cu_seqlens_q") return &tensors.cu_seqlens_q;
  if (name == "cu_seqlens_kv") return &tensors.cu_seqlens_kv;
  if (name == "seqlens_q") return &tensors.seqlens_q;
  if (name == "seqlens_kv") return &tensors.seqlens_kv;
  if (name == "page_table") return &tensors.page_table;
  if (name == "mask") return &tensors.mask;
  if (name == "alibi_slopes") return &tensors.alibi_slopes;
  if (name == "sinks") return &tensors.sinks;
  if (name == "q_scale") return &tensors.q_scale;
  if (name == "k_scale") return &tensors.k_scale;
  if (name == "v_scale") return &tensors.v_scale;
  if (name == "out_scale") return &tensors.out_scale;
  return nullptr;
}

namespace {

constexpr IndexArray index_arrays[] = {{"cu_seqlens_q", &plumbline_tensors::device_cu_seqlens_q},
                                       {"cu_seqlens_kv", &plumbline_tensors::device_cu_seqlens_kv},
                                       {"seqlens_q", &plumbline_tensors::device_seqlens_q},
                                       {"seqlens_kv", &plumbline_tensors::device_seqlens_kv},
                                       {"page_table", &plumbline_tensors::device_page_table}};

}  // namespace

const IndexArray* find_index_array(std::string_view name) {
  const auto* const at = std::find_if(std::begin(index_arrays), std::end(index_arrays),
                                      [&](const IndexArray& one) { return one.name == name; });
  return at == std::end(index_arrays) ? nullptr : at;
}

plumbline_tensor to_tensor(const protocol::Tensor& t, void* data) {
  plumbline_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = t.dtype;
  tensor.rank = static_cast<std::uint32_t>(t.extent.size());
  if (t.extent.size() > 4 || t.stride.size() != t.extent.size())
    throw Stop{Status::error,
               fmt::format("tensor {} needs at most 4 dimensions, each with a stride", t.name)};
  std::ranges::copy(t.extent, tensor.extent);
  std::ranges::copy(t.stride, tensor.stride);
  tensor.data = data;
  tensor.bytes = t.bytes;
  return tensor;
}

}  // namespace plumbline
