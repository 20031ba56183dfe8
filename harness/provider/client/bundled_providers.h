// The providers that come with plumbline, found by name from any directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

// Returns lib/plumbline next to this program's folder, otherwise that of the build directory. It
// has the libraries and, in python/, the Python files.
std::filesystem::path provider_folder();

struct BundledProvider {
  std::string name;            // "cpu" for plumbline_cpu.so, "torch" for python/torch_kernels.py
  std::filesystem::path path;  // exists
};

// Returns the providers in `folder`, by name; libraries before Python files.
std::vector<BundledProvider> bundled_providers(const std::filesystem::path& folder);

// Returns the bundled provider with the name ("cpu") or file name ("plumbline_cpu.so",
// "torch_kernels.py") `word`. Returns nothing if `word` has a folder, because an explicit path is
// never replaced.
std::optional<std::filesystem::path> find_bundled_provider(const std::string& word,
                                                           const std::filesystem::path& folder);

// Returns the remedy for a missing provider file: "did you mean cpu?" if a name is similar, and the
// names of the bundled providers.
std::string missing_provider_remedy(const std::string& word, const std::filesystem::path& folder);

}  // namespace plumbline
