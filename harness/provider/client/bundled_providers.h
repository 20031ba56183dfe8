// The providers that come with plumbline, found by name from any directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

// lib/plumbline beside this program's folder, else that of the build directory: the libraries, and
// in python/ the Python files.
std::filesystem::path provider_folder();

struct BundledProvider {
  std::string name;            // "cpu" for plumbline_cpu.so, "torch" for python/torch_kernels.py
  std::filesystem::path path;  // exists
};

// Those in `folder`, by name; libraries before Python files.
std::vector<BundledProvider> bundled_providers(const std::filesystem::path& folder);

// The bundled provider that `word` names: its name ("cpu") or its file without a folder
// ("plumbline_cpu.so", "torch_kernels.py"). Nothing where `word` has a folder: a file that was
// named with its place is not replaced by another.
std::optional<std::filesystem::path> find_bundled_provider(const std::string& word,
                                                           const std::filesystem::path& folder);

// What to do about a provider file that is not there: "did you mean cpu?", or the bundled ones by
// name.
std::string missing_provider_remedy(const std::string& word, const std::filesystem::path& folder);

}  // namespace plumbline
