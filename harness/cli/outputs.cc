// Checks that the outputs of a run can be written, and writes texts.
#include "harness/cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "harness/base/pending_file.h"
#include "harness/judge/exit_code.h"

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

// Returns the path itself, or the nearest folder above it that exists.
fs::path nearest_existing(const fs::path& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  while (!fs::exists(at, ignored) && at.has_parent_path() && at != at.parent_path())
    at = at.parent_path();
  return at;
}

// Returns the end of a chain of links; it need not exist.
fs::path link_target(fs::path path) {
  constexpr int most = 40;  // the kernel's limit
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
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
    return add("needs a file, and this is a folder", fmt::format("name a file in it: {}/…", path));
  if (exists && !is_folder && output.is_folder)
    return add("needs a folder, and this is a file", "name a folder, or move the file");
  const fs::path base = nearest_existing(output.path);
  if (!exists && !fs::is_directory(base, ignored)) {
    return add(fmt::format("cannot be made: {} is a file, not a folder", base.string()),
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

Result<void> write_text(const fs::path& named, const std::string& text) {
  std::error_code ignored;
  const fs::path path = link_target(named);
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  const bool in_place = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  std::optional<PendingFile> pending;
  if (!in_place) pending.emplace(path);
  std::ofstream file(in_place ? path : pending->place(), std::ios::binary);
  file << text;
  file.close();
  if (file && (in_place || pending->commit())) return {};
  return fail(Error{path.string(), 0, "cannot be written",
                    "check the folder, its permission and the free space"});
}

int finish_stdout(int code) {
  const bool lost_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !lost_before) return code;
  // An earlier write failed and its errno is lost: write again to get it.
  if (errno == 0) std::fputc('\n', stdout), std::fflush(stdout);
  fmt::print(stderr,
             "stdout: {}: the output is incomplete\n"
             "  remedy: free space there or send it elsewhere, and run the command again\n",
             errno != 0 ? std::strerror(errno) : "a write failed");
  return exit_infrastructure;
}

}  // namespace plumbline::cli
