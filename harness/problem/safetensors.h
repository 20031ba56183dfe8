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

// Writes a PendingFile, so that readers never see an incomplete file.
Result<void> write_safetensors(const std::filesystem::path& path,
                               const std::vector<NamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata);

// A tensor of a file or framework, contiguous, row major. `dtype` is any name of the format ("F64",
// "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "I32", "U8", "BOOL", …). Does not own the
// data.
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

// Reads a file and checks everything in its header: length, JSON, dtypes, shapes that multiply
// without overflow, offsets that stay in the data and neither overlap nor leave gaps. For any
// bytes, returns a value or an error that names the file and what is wrong.
Result<SafetensorsFile> read_safetensors(const std::filesystem::path& path);
Result<SafetensorsFile> parse_safetensors(const std::string& name, std::vector<std::byte> contents);

// Returns a file's text for messages: '?' replaces control characters, which a terminal would obey.
std::string printable(std::string text);

// Returns "F16" for f16 and so on. The inverse returns nullopt for other dtypes than plumbline's
// floating-point formats.
std::string_view safetensors_dtype(DType dtype);
std::optional<DType> float_dtype(std::string_view safetensors_dtype);
// Returns the bytes per element, or 0 if the format has no such dtype.
std::size_t element_bytes(std::string_view safetensors_dtype);

}  // namespace plumbline
