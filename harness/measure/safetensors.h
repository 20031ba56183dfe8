// Writes tensors in the safetensors format (8-byte little-endian header length, JSON header, data).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/problem/dtype.h"
#include "harness/problem/error.h"

namespace plumbline {

struct NamedTensor {
  std::string name;
  DType dtype = DType::none;  // f32, f16, bf16, e4m3, e5m2, f64 or i32
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // contiguous, row major
};

// Writes to a temporary file beside `path` and renames it, so that a reader never sees half a file.
Result<void> write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace plumbline
