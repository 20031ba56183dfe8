// Reads and writes files of tensors in the safetensors format. A file is an 8-byte little-endian
// header length, a JSON header and data (https://github.com/huggingface/safetensors, "Format").
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/problem/dtype.h"

namespace plumbline {

struct NamedTensor {
  std::string name;
  DType dtype = DType::none;  // f32, f16, bf16, e4m3, e5m2, f64 or i32
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // contiguous, row major
};

// Writes to a temporary file beside `path` and renames it, so that a reader never sees half a file.
Result<void> write_safetensors(const std::filesystem::path& path,
                               const std::vector<NamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata);

// A tensor as a file or a framework names it: any dtype of the format ("F64", "F32", "F16", "BF16",
// "F8_E4M3", "F8_E5M2", "I64", "I32", "U8", "BOOL", …), contiguous, row major. The data are not
// owned.
struct TensorData {
  std::string dtype;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

struct SafetensorsFile {
  std::vector<std::byte> contents;  // owns the data
  std::map<std::string, TensorData> tensors;
  std::map<std::string, std::string> metadata;
};

// Everything in the header is checked against the file: length, JSON, dtypes, shapes that multiply
// without overflow, offsets that lie in the data, neither overlap nor leave gaps. Whatever the
// bytes, the answer is a value or an error that names the file and what is wrong.
Result<SafetensorsFile> read_safetensors(const std::filesystem::path& path);
Result<SafetensorsFile> parse_safetensors(const std::string& name, std::vector<std::byte> contents);

// Text of a file as a message may show it: without control characters, which a terminal would obey.
std::string printable(std::string text);

// "F16" for f16 and so on; the other way round nullopt for what is no floating-point format of
// plumbline.
std::string_view safetensors_dtype(DType dtype);
std::optional<DType> float_dtype(std::string_view safetensors_dtype);
// Bytes an element; 0 for what is no dtype of the format.
std::size_t element_bytes(std::string_view safetensors_dtype);

}  // namespace plumbline
