// Output files of a run, which are checked before anything is measured, and stdout.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace plumbline::cli {

struct Output {
  std::string option;          // "--junit"
  std::filesystem::path path;  // empty if not requested
  bool is_folder = false;
};

// Returns an error for each path that cannot be written: a folder instead of a file, a file instead
// of a folder, or no permission. Nothing is created or changed.
Errors unusable_outputs(const std::vector<Output>& outputs);

// Creates the file's folder if it is missing, and writes through a temporary file, so that an old
// file stays whole until it is replaced. A link stays, and its target is written. Anything but a
// regular file (/dev/stdout, a pipe) is written directly.
Result<void> write_text(const std::filesystem::path& path, const std::string& text);

// Flushes stdout as the last step of a program. Returns `code`. If output was lost to a full disk
// or a closed pipe, prints that to stderr and returns exit_infrastructure.
int finish_stdout(int code);

}  // namespace plumbline::cli
