#include "harness/problem/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace plumbline {
namespace {

const char* safetensors_dtype(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "F64";
    case DType::f32:
    case DType::tf32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::e4m3:
      return "F8_E4M3";
    case DType::e5m2:
      return "F8_E5M2";
    case DType::i32:
      return "I32";
    case DType::none:
      break;
  }
  return "";
}

std::size_t byte_count(const NamedTensor& tensor) {
  const auto elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
  return static_cast<std::size_t>(elements) * size_in_bytes(tensor.dtype);
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& tensor : tensors) {
    const auto end = offset + byte_count(tensor);
    header[tensor.name] = {{"dtype", safetensors_dtype(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // data starts aligned

  const auto temporary = std::filesystem::path(fmt::format("{}.{}.tmp", path.string(), ::getpid()));
  std::ofstream file(temporary, std::ios::binary);
  const auto length = static_cast<std::uint64_t>(text.size());
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const auto& tensor : tensors) file.write(static_cast<const char*>(tensor.data), static_cast<std::streamsize>(byte_count(tensor)));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return fail(Error{path.string(), 0, "cannot write the file", "check that the directory exists, is writable and has space"});
  }
  return {};
}

}  // namespace plumbline
