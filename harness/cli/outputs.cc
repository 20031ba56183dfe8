// Says of each path that a run will write to whether it can be made there, with a remedy if not.
#include "harness/cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

// The path itself, or the nearest folder above it that exists.
fs::path nearest_existing(const fs::path& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  while (!fs::exists(at, ignored) && at.has_parent_path() && at != at.parent_path())
    at = at.parent_path();
  return at;
}

void check(const Output& output, Errors& errors) {
  std::error_code ignored;
  const std::string path = output.path.string();
  const auto add = [&](const std::string& what, const std::string& remedy) {
    errors.push_back({path, 0, fmt::format("{} {}", output.option, what), remedy});
  };
  const bool exists = fs::exists(output.path, ignored),
             is_folder = fs::is_directory(output.path, ignored);
  if (exists && is_folder && !output.is_folder)
    return add("names a folder; it writes a file", fmt::format("name a file in it: {}/…", path));
  if (exists && !is_folder && output.is_folder)
    return add("names a file; it writes into a folder", "name a folder, or move the file");
  const fs::path base = nearest_existing(output.path);
  if (!exists && !fs::is_directory(base, ignored)) {
    return add(fmt::format("cannot be made: {} is a file and no folder", base.string()),
               "name another place");
  }
  if (::access(base.c_str(), W_OK) != 0)
    add(fmt::format("cannot be written: no permission in {}", base.string()), "name another place");
}

}  // namespace

Errors unusable_outputs(const std::vector<Output>& outputs) {
  Errors errors;
  for (const Output& output : outputs) {
    if (!output.path.empty()) check(output, errors);
  }
  return errors;
}

}  // namespace plumbline::cli
