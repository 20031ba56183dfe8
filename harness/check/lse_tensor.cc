// Tells from its shape whether heads or rows come first in a dump's LSE, and reorders its values.
#include "harness/check/lse_tensor.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

struct Sizes {
  std::int64_t batch, rows, heads;
};

// As rank 3, by what may be left out or appended.
Shape full_shape(Shape shape, const Problem& problem, const Sizes& sizes) {
  if (shape.size() == 4 && shape[3] == 1) shape.pop_back();
  if (shape.size() == 2 && sizes.batch == 1) shape.insert(shape.begin(), 1);
  if (shape.size() == 1 && sizes.batch == 1 && sizes.heads == 1) shape = {1, shape[0], 1};
  // Paged queries of [batch, seq_q, heads, dim] have the LSE [batch, seq_q, heads].
  if (problem.is_paged() && shape.size() == 3 && shape[0] != 1 && shape[2] == sizes.heads)
    shape = {1, shape[0] * shape[1], sizes.heads};
  return shape;
}

// Whether the heads come first; nullopt with an error where that is open or the shape fits neither
// way.
std::optional<bool> find_order(const Shape& given, const Problem& problem, const Sizes& sizes,
                               std::optional<bool> stated, TensorSet& tensors) {
  const auto [b, rows, h] = sizes;
  const Shape shape = full_shape(given, problem, sizes);
  const bool last = shape == Shape{b, rows, h}, first = shape == Shape{b, h, rows};
  if (first && last && !stated && h > 1) {
    tensors.add(fmt::format("tensor lse {} may have its heads first or last", shape_text(given)),
                "state lse_layout = heads_first or heads_last");
    return std::nullopt;
  }
  const bool heads_first = stated.value_or(!last);
  if (heads_first ? first : last) return heads_first;
  tensors.add(fmt::format("tensor lse {} is neither [{}, {}, {}] nor [{}, {}, {}]",
                          shape_text(given), b, rows, h, b, h, rows),
              "one LSE for each query row and head; cut off padding that the kernel appended");
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::byte>> read_lse(const Problem& problem, std::int64_t rows,
                                               std::optional<bool> heads_first,
                                               TensorSet& tensors) {
  const TensorData& tensor = *tensors.need("lse");
  if (tensor.dtype != "F32" && tensor.dtype != "F64") {
    tensors.add(
        fmt::format("tensor lse has dtype {}", tensor.dtype),
        fmt::format("write it as F32; where the kernel rounds it, state spec = \"lse_dtype={}\"",
                    tensor.dtype == "BF16" ? "bf16" : "fp16"));
    return std::nullopt;
  }
  const Sizes sizes{problem.is_padded() ? problem.batch : 1, rows, problem.heads_q};
  const auto order = find_order(tensor.shape, problem, sizes, heads_first, tensors);
  if (!order) return std::nullopt;
  const DType dtype = *float_dtype(tensor.dtype);
  std::vector<float> values;
  values.reserve(element_count(tensor));
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        const std::int64_t at =
            *order ? (b * sizes.heads + h) * rows + i : (b * rows + i) * sizes.heads + h;
        values.push_back(
            static_cast<float>(decode_at(dtype, tensor.data, static_cast<std::size_t>(at))));
      }
    }
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  encode(DType::f32, values, bytes.data());
  return bytes;
}

}  // namespace plumbline
