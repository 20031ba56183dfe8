// Reads small tensors with one number for each query head.
#include "harness/check/feature_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace plumbline {
namespace {

// Returns the tensor's numbers. If its shape or dtype does not fit or a number is not finite, adds
// an error and returns none.
std::vector<float> read_numbers(const std::string& name, const TensorData& tensor,
                                const std::vector<Shape>& shapes, TensorSet& tensors) {
  const auto dtype = float_dtype(tensor.dtype);
  if (!dtype || is_fp8(*dtype)) {
    tensors.add(fmt::format("tensor {} has dtype {}", name, tensor.dtype),
                "write it as F32, F16 or BF16");
    return {};
  }
  std::vector<std::string> allowed;
  bool fits = false;
  for (const Shape& shape : shapes) {
    allowed.push_back(shape_text(shape));
    fits = fits || tensor.shape == shape;
  }
  if (!fits) {
    tensors.add(fmt::format("tensor {} has shape {}", name, shape_text(tensor.shape)),
                fmt::format("write a number for each query head: {}", fmt::join(allowed, " or ")));
    return {};
  }
  std::vector<float> numbers;
  for (std::size_t at = 0; at < element_count(tensor); ++at) {
    numbers.push_back(static_cast<float>(decode_at(*dtype, tensor.data, at)));
    if (std::isfinite(numbers.back())) continue;
    tensors.add(fmt::format("tensor {}: element {} is {}", name, at, numbers.back()),
                "write finite numbers, as the kernel saw them");
    return {};
  }
  return numbers;
}

// Returns `standard` if the slopes are the usual ones for this number of heads, otherwise `random`.
Alibi law_of(const std::vector<float>& slopes, std::int64_t heads) {
  Problem standard;
  standard.heads_q = heads;
  standard.alibi = Alibi::standard;
  return slopes == side_inputs(standard).alibi_slopes ? Alibi::standard : Alibi::random;
}

}  // namespace

bool read_features(Problem& problem, SideInputs& side, TensorSet& tensors) {
  if (const TensorData* slopes = tensors.find("alibi_slopes")) {
    side.alibi_slopes = read_numbers(
        "alibi_slopes", *slopes, {{problem.heads_q}, {problem.batch, problem.heads_q}}, tensors);
    if (side.alibi_slopes.empty()) return false;
    problem.alibi = law_of(side.alibi_slopes, problem.heads_q);
  }
  if (const TensorData* sinks = tensors.find("sinks")) {
    side.sinks = read_numbers("sinks", *sinks, {{problem.heads_q}}, tensors);
    if (side.sinks.empty()) return false;
    problem.sinks = Sinks::normal;
  }
  return true;
}

}  // namespace plumbline
