// Finds from the shapes whether heads or rows come first in a dump's row outputs, and reorders
// their values.
#include "harness/check/row_tensors.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

struct Sizes {
  std::int64_t batch, rows, heads;
};

// Returns the shape as rank 3: adds extents that were left out, removes an appended 1.
Shape full_shape(Shape shape, const Problem& problem, const Sizes& sizes) {
  if (shape.size() == 4 && shape[3] == 1) shape.pop_back();
  if (shape.size() == 2 && sizes.batch == 1) shape.insert(shape.begin(), 1);
  if (shape.size() == 1 && sizes.batch == 1 && sizes.heads == 1) shape = {1, shape[0], 1};
  // Paged queries of [batch, seq_q, heads, dim] have row outputs of [batch, seq_q, heads].
  if (problem.is_paged() && shape.size() == 3 && shape[0] != 1 && shape[2] == sizes.heads)
    shape = {1, shape[0] * shape[1], sizes.heads};
  return shape;
}

// Returns true if the heads come first. If neither order fits, or both fit and `stated` is empty,
// adds an error and returns nullopt.
std::optional<bool> find_order(std::string_view name, const Shape& given, std::string_view words,
                               const Problem& problem, const Sizes& sizes,
                               std::optional<bool> stated, TensorSet& tensors) {
  const auto [b, rows, h] = sizes;
  const Shape shape = full_shape(given, problem, sizes);
  const bool last = shape == Shape{b, rows, h}, first = shape == Shape{b, h, rows};
  if (first && last && !stated && h > 1) {
    tensors.add(
        fmt::format("tensor {} {} may have its heads first or last", name, shape_text(given)),
        "state lse_layout = heads_first or heads_last");
    return std::nullopt;
  }
  const bool heads_first = stated.value_or(!last);
  if (heads_first ? first : last) return heads_first;
  tensors.add(fmt::format("tensor {} {} is neither [{}, {}, {}] nor [{}, {}, {}]", name,
                          shape_text(given), b, rows, h, b, h, rows),
              fmt::format("write one {} for each query row and head; cut off padding that the "
                          "kernel appended",
                          words));
  return std::nullopt;
}

// Adds an error and returns nullopt if the tensor cannot be read.
std::optional<std::vector<std::byte>> read(RowOutput output, const TensorData& tensor,
                                           const Problem& problem, std::int64_t rows,
                                           std::optional<bool> heads_first, TensorSet& tensors) {
  if (tensor.dtype != "F32" && tensor.dtype != "F64") {
    const std::string rounded =
        fmt::format("; if the kernel rounds it, state spec = \"lse_dtype={}\"",
                    tensor.dtype == "BF16" ? "bf16" : "fp16");
    tensors.add(fmt::format("tensor {} has dtype {}", name(output), tensor.dtype),
                "write it as F32" + (output == RowOutput::lse ? rounded : ""));
    return std::nullopt;
  }
  const Sizes sizes{problem.is_padded() ? problem.batch : 1, rows, problem.heads_q};
  const auto order = find_order(name(output), tensor.shape, table_row(output).words, problem, sizes,
                                heads_first, tensors);
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

}  // namespace

bool read_row_outputs(const Problem& problem, std::int64_t rows, std::optional<bool> heads_first,
                      TensorSet& tensors, Dump& dump) {
  bool fine = true;
  for (const RowOutput output : all<RowOutput>()) {
    if (problem.is_merge() && !table_row(output).of_merges) continue;
    const TensorData* tensor = tensors.find(std::string(name(output)));
    if (tensor == nullptr) continue;
    auto bytes = read(output, *tensor, problem, rows, heads_first, tensors);
    fine = fine && bytes;
    if (bytes) dump.*dump_rows[output] = std::move(*bytes);
  }
  return fine;
}

}  // namespace plumbline
