// Places the tensors, index arrays and small inputs of a case in the arena; fills all but Q, K, V
// and outputs.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>

#include "harness/problem/side_inputs.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

namespace {

// Places tensors until one does not fit.
class Placer {
 public:
  explicit Placer(Arena& arena) : arena_(arena) {}
  Errors errors;

  int place(const char* name, std::size_t bytes, Access access) {
    if (!errors.empty()) return -1;
    auto index = arena_.place(name, bytes, access);
    if (!index) {
      errors = index.error();
      return -1;
    }
    return static_cast<int>(*index);
  }
  int tensor(const char* name, const TensorShape& shape, Access access) {
    return shape.rank == 0 ? -1 : place(name, shape.bytes(), access);
  }
  // Places one buffer for tensors of the same dtype.
  int buffer(const char* name, std::initializer_list<const TensorShape*> views) {
    std::size_t bytes = 0;
    for (const TensorShape* view : views) {
      if (view->elements > 0)
        bytes = std::max(bytes, static_cast<std::size_t>(view->first) * size_in_bytes(view->dtype) +
                                    view->bytes());
    }
    return place(name, bytes, Access::read);
  }
  // Places and fills an array; returns -1 if it is empty.
  template <class T>
  int filled(const char* name, const std::vector<T>& values) {
    return values.empty() ? -1 : copy<T>(name, values);
  }
  int indices(const char* name, std::span<const std::int32_t> values) { return copy(name, values); }

 private:
  template <class T>
  int copy(const char* name, std::span<const T> values) {
    const int slot = place(name, values.size_bytes(), Access::read);
    if (slot >= 0 && !values.empty())
      std::memcpy(arena_.data(static_cast<std::size_t>(slot)), values.data(), values.size_bytes());
    return slot;
  }

  Arena& arena_;
};

}  // namespace

std::vector<std::size_t> RunRequest::output_slots() const {
  std::vector<std::size_t> slots;
  const auto add = [&](int slot) {
    if (slot >= 0) slots.push_back(static_cast<std::size_t>(slot));
  };
  add(out);
  for (const RowOutput output : all<RowOutput>()) add(slot_of(output));
  return slots;
}

PerRowOutput<bool> further_outputs(const Hello& hello, std::string_view kernel) {
  PerRowOutput<bool> further;
  for (std::size_t i = 0; i < hello.outputs.size(); ++i) {
    if (!kernel.empty() && hello.kernels.at(i) != kernel) continue;
    for (const std::string& name : hello.outputs[i]) {
      if (const auto output = parse<RowOutput>(name)) further[*output] = true;
    }
  }
  return further;
}

Result<RunRequest> place_tensors(Arena& arena, const Geometry& geometry,
                                 const PerRowOutput<bool>& further) {
  arena.reset();
  RunRequest request;
  request.geometry = &geometry;
  Placer placer(arena);
  const View view = geometry.problem().view;
  if (view == View::packed_qkv) {
    request.q = request.k = request.v =
        placer.buffer("qkv", {&geometry.q, &geometry.k, &geometry.v});
  } else {
    request.q = placer.tensor("q", geometry.q, Access::read);
    if (view == View::packed_kv || view == View::v_in_k) {
      request.k = request.v = placer.buffer("kv", {&geometry.k, &geometry.v});
    } else {
      request.k = placer.tensor("k", geometry.k, Access::read);
      request.v = placer.tensor("v", geometry.v, Access::read);
    }
  }
  request.out = placer.tensor("out", geometry.out, Access::write);
  for (const RowOutput output : all<RowOutput>()) {
    const bool is_requested = output == RowOutput::lse ? geometry.problem().lse : further[output];
    if (is_requested && (table_row(output).of_merges || !geometry.problem().is_merge()))
      request.slot_of(output) =
          placer.tensor(name(output).data(), geometry.row_shape, Access::write);
  }
  request.cu_seqlens_q = placer.indices("cu_seqlens_q", geometry.cu_seqlens_q);
  request.cu_seqlens_kv = placer.indices("cu_seqlens_kv", geometry.cu_seqlens_kv);
  request.seqlens_q = placer.indices("seqlens_q", geometry.seqlens_q);
  request.seqlens_kv = placer.indices("seqlens_kv", geometry.seqlens_kv);
  if (geometry.problem().is_paged())
    request.page_table = placer.indices("page_table", geometry.page_table);
  const SideInputs& side = geometry.side;
  // The LSEs of a merge's parts already mark parts without keys.
  if (!geometry.problem().is_merge()) request.mask = placer.filled("mask", geometry.mask_bits);
  request.alibi_slopes = placer.filled("alibi_slopes", side.alibi_slopes);
  request.sinks = placer.filled("sinks", side.sinks);
  request.q_scale = placer.filled("q_scale", side.q_scale);
  request.k_scale = placer.filled("k_scale", side.k_scale);
  request.v_scale = placer.filled("v_scale", side.v_scale);
  request.out_scale = placer.filled("out_scale", side.out_scale);
  if (!placer.errors.empty()) return tl::unexpected(placer.errors);
  return request;
}

}  // namespace plumbline
