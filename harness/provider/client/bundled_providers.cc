// Lists the installed provider libraries and Python files, and finds one by name.
#include "harness/provider/client/bundled_providers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "harness/base/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view library_prefix = "plumbline_", library_suffix = ".so",
                           python_suffix = "_kernels.py";

// Returns the text between prefix and suffix, or "".
std::string between(std::string_view prefix, const std::string& text, std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix))
    return "";
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
}

void add_from(const fs::path& folder, std::string_view prefix, std::string_view suffix,
              std::vector<BundledProvider>& found) {
  std::vector<BundledProvider> here;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = between(prefix, entry.path().filename().string(), suffix);
    // plumbline_reference_*.so is not a provider.
    if (!name.empty() && !name.starts_with("reference_")) here.push_back({name, entry.path()});
  }
  std::ranges::sort(here, [](const auto& a, const auto& b) { return a.name < b.name; });
  found.insert(found.end(), here.begin(), here.end());
}

}  // namespace

fs::path provider_folder() {
  std::error_code ignored;
  const fs::path beside =
      fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "lib" / "plumbline";
  return fs::is_directory(beside, ignored)
             ? beside
             : fs::path(PLUMBLINE_BINARY_DIRECTORY) / "lib" / "plumbline";
}

std::vector<BundledProvider> bundled_providers(const fs::path& folder) {
  std::vector<BundledProvider> found;
  add_from(folder, library_prefix, library_suffix, found);
  add_from(folder / "python", "", python_suffix, found);
  return found;
}

std::optional<fs::path> find_bundled_provider(const std::string& word, const fs::path& folder) {
  if (word.find('/') != std::string::npos) return std::nullopt;
  for (const BundledProvider& provider : bundled_providers(folder)) {
    if (word == provider.name || word == provider.path.filename()) return provider.path;
  }
  return std::nullopt;
}

std::string missing_provider_remedy(const std::string& word, const fs::path& folder) {
  const auto providers = bundled_providers(folder);
  std::string file = fs::path(word).filename().string();
  for (const auto& [prefix, suffix] :
       {std::pair{library_prefix, library_suffix}, std::pair{std::string_view(), python_suffix}}) {
    if (const std::string name = between(prefix, file, suffix); !name.empty()) file = name;
  }
  const auto known = texts_of(providers, &BundledProvider::name);
  return fmt::format("{}check the path given to --provider, or name a bundled provider: {}",
                     did_you_mean(file, known), fmt::join(known, ", "));
}

}  // namespace plumbline
