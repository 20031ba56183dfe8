// Finds a dump's tensors under any of their usual names, and checks and converts their contents.
#include "harness/check/tensor_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/problem/outputs.h"

namespace plumbline {
namespace {

// Other spellings in use: PyTorch, FlashAttention, vLLM.
const std::map<std::string, std::vector<std::string>>& aliases() {
  static const auto names = [] {
    std::map<std::string, std::vector<std::string>> all_names{
        {"q", {"query"}},
        {"k", {"key"}},
        {"v", {"value"}},
        {"out", {"o", "output"}},
        {"cu_seqlens", {}},
        {"cu_seqlens_q", {}},
        {"cu_seqlens_kv", {"cu_seqlens_k"}},
        {"seqlens_q", {}},
        {"seqlens_kv", {"seqlens_k", "cache_seqlens"}},
        {"page_table", {"block_table"}},
        {"mask", {"attn_mask", "attention_mask"}},
        {"q_scale", {"q_descale"}},
        {"k_scale", {"k_descale"}},
        {"v_scale", {"v_descale"}},
        {"out_scale", {"o_scale", "output_scale"}},
        {"alibi_slopes", {}},
        {"sinks", {"s_aux"}},
        {"attn_bias", {"bias"}},
        {"partial_out", {}},
        {"partial_lse", {}},
    };
    for (const NamedOutput& output : row_outputs)
      all_names[std::string(output.name)] = {std::string(output.other_name)};
    return all_names;
  }();
  return names;
}

template <class T>
T load(const TensorData& tensor, std::size_t index) {
  T value;
  std::memcpy(&value, tensor.data + index * sizeof(T), sizeof(T));
  return value;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Returns the index of the first element that `to` cannot hold or, if rounding is allowed, that is
// finite and becomes infinite; the number of elements if there is none.
std::size_t first_unfit(const TensorData& tensor, DType from, DType to,
                        TensorSet::Narrowing narrowing) {
  const std::size_t count = element_count(tensor);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = decode_at(from, tensor.data, i), rounded = round_to(value, to);
    const bool fits = narrowing == TensorSet::Narrowing::rounds
                          ? !std::isfinite(value) || std::isfinite(rounded)
                          : same(rounded, value);
    if (!fits) return i;
  }
  return count;
}

}  // namespace

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::size_t element_count(const TensorData& tensor) {
  const std::size_t size = element_bytes(tensor.dtype);
  return size == 0 ? 0 : tensor.bytes / size;
}

std::optional<std::int64_t> integer_at(const TensorData& tensor, std::size_t index) {
  if (tensor.dtype == "I64") return load<std::int64_t>(tensor, index);
  if (tensor.dtype == "I32") return load<std::int32_t>(tensor, index);
  if (tensor.dtype == "U32") return load<std::uint32_t>(tensor, index);
  if (tensor.dtype == "I16") return load<std::int16_t>(tensor, index);
  if (tensor.dtype == "U8" || tensor.dtype == "BOOL") return load<std::uint8_t>(tensor, index);
  if (tensor.dtype == "I8") return load<std::int8_t>(tensor, index);
  return std::nullopt;
}

TensorSet::TensorSet(const std::string& dump, const std::map<std::string, TensorData>& tensors,
                     Errors& errors)
    : dump_(dump), tensors_(tensors), errors_(errors) {
  check_sizes();
}

void TensorSet::add(std::string message, std::string remedy) {
  errors_.push_back({dump_, 0, std::move(message), std::move(remedy)});
}

// The caller's map may be wrong, so sizes are checked before any byte is read.
void TensorSet::check_sizes() {
  for (const auto& [name, tensor] : tensors_) {
    std::uint64_t bytes = element_bytes(tensor.dtype);
    bool fits_64_bits = true;
    for (const std::int64_t extent : tensor.shape) {
      fits_64_bits = fits_64_bits && extent >= 0 &&
                     !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes);
    }
    if (element_bytes(tensor.dtype) == 0) {
      add(fmt::format("tensor {}: unknown dtype \"{}\"", name, tensor.dtype),
          "write it as F32, F16, BF16 or an integer dtype");
    } else if (!fits_64_bits || bytes != tensor.bytes ||
               (tensor.data == nullptr && tensor.bytes > 0)) {
      add(fmt::format("tensor {}: shape {} of {} does not match its {} bytes", name,
                      shape_text(tensor.shape), tensor.dtype, tensor.bytes),
          "write it contiguous and row major");
    }
  }
}

const TensorData* TensorSet::find(const std::string& name) const {
  const auto asked = [&](const std::string& spelling) -> const TensorData* {
    const auto found = tensors_.find(spelling);
    if (found == tensors_.end()) return nullptr;
    used_.insert(spelling);
    return &found->second;
  };
  if (const TensorData* tensor = asked(name)) return tensor;
  for (const std::string& alias : aliases().at(name)) {
    if (const TensorData* tensor = asked(alias)) return tensor;
  }
  return nullptr;
}

std::vector<std::string> TensorSet::unused_names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    if (!used_.contains(name)) names.push_back(printable(name));
  }
  return names;
}

const TensorData* TensorSet::need(const std::string& name) {
  const TensorData* tensor = find(name);
  if (tensor != nullptr) return tensor;
  std::vector<std::string> there;
  for (const auto& [other, data] : tensors_) {
    if (there.size() < 12) there.push_back(other.substr(0, 40));
  }
  add(fmt::format("tensor {} is missing; the dump has {}", name,
                  there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))),
      "a dump needs q, k and v, or for a merge partial_out, partial_lse and out; see "
      "docs/dump-format.md");
  return nullptr;
}

std::optional<std::vector<std::int64_t>> TensorSet::integers(const std::string& name,
                                                             std::size_t rank) {
  const TensorData* tensor = find(name);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype != "I32" && tensor->dtype != "I64") {
    add(fmt::format("tensor {} has dtype {}", name, tensor->dtype),
        "write lengths, offsets and page numbers as I32 or I64");
    return std::nullopt;
  }
  if (rank != 0 && tensor->shape.size() != rank) {
    add(fmt::format("tensor {} has shape {}, which is not of rank {}", name,
                    shape_text(tensor->shape), rank),
        "see docs/dump-format.md");
    return std::nullopt;
  }
  std::vector<std::int64_t> values(element_count(*tensor));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = *integer_at(*tensor, i);
  return values;
}

bool TensorSet::fits(const TensorData& tensor, DType dtype) {
  const auto from = float_dtype(tensor.dtype);
  return from && first_unfit(tensor, *from, dtype, Narrowing::exact) == element_count(tensor);
}

std::optional<std::vector<std::byte>> TensorSet::floats(const std::string& name,
                                                        const TensorData& tensor, DType dtype,
                                                        Narrowing narrowing) {
  const auto from = float_dtype(tensor.dtype);
  if (!from) {
    add(fmt::format("tensor {} has dtype {}", name, tensor.dtype), "write it as F32, F16 or BF16");
    return std::nullopt;
  }
  if (*from == dtype) return std::vector<std::byte>(tensor.data, tensor.data + tensor.bytes);
  const std::size_t count = element_count(tensor);
  const bool rounds = narrowing == Narrowing::rounds;
  const std::size_t unfit = first_unfit(tensor, *from, dtype, narrowing);
  if (unfit < count) {
    add(fmt::format("tensor {} ({}): element {} is {:.9g}, {} {} number", name, tensor.dtype, unfit,
                    decode_at(*from, tensor.data, unfit),
                    rounds ? "beyond the largest" : "which is no", plumbline::name(dtype)),
        rounds ? "state the dtype that the kernel computed in: dtype = fp32, fp16 or bf16"
               : "state the dtype that the kernel saw, and save the values that it saw");
    return std::nullopt;
  }
  std::vector<std::byte> bytes(count * size_in_bytes(dtype));
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(round_to(decode_at(*from, tensor.data, i), dtype));
  encode(dtype, values, bytes.data());
  return bytes;
}

}  // namespace plumbline
