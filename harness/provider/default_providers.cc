#include "harness/provider/default_providers.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_gpu_node(const fs::path& node) {
  constexpr std::string_view prefix = "nvidia";
  const std::string name = node.filename().string();
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + prefix.size(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

bool has_cuda_device(const fs::path& devices) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && (*visible == '\0' || *visible == '-')) return false;
  if (!is_there(devices / "nvidiactl")) return false;
  std::error_code ignored;
  const fs::directory_iterator nodes(devices, ignored);
  return std::any_of(begin(nodes), end(nodes), [](const fs::directory_entry& node) { return is_gpu_node(node.path()); });
}

std::vector<std::string> default_providers(const fs::path& folder, const fs::path& devices) {
  std::vector<std::string> libraries{(folder / "plumbline_cpu.so").string()};
  const fs::path emulated = folder / "plumbline_emulated.so", cuda = folder / "plumbline_cuda.so";
  if (is_there(emulated)) libraries.push_back(emulated.string());
  if (is_there(cuda) && has_cuda_device(devices)) libraries.push_back(cuda.string());
  return libraries;
}

}  // namespace plumbline
