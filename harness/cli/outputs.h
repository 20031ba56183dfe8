// Places that a run will write to, looked at before anything is measured, and stdout.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace plumbline::cli {

struct Output {
  std::string option;          // "--junit"
  std::filesystem::path path;  // empty: not asked for
  bool is_folder = false;
};

// An error for each place that cannot be written: a folder where a file is meant, a file where a
// folder is, a place without permission. Nothing is created or changed.
Errors unusable_outputs(const std::vector<Output>& outputs);

// Makes the file's folder where it is missing, and puts the text into a file beside the place
// first, so that what is there stays whole until it is replaced. A link stays, and what it points
// to is written; what is no regular file (/dev/stdout, a pipe) is written to as it is.
Result<void> write_text(const std::filesystem::path& path, const std::string& text);

// Flushes stdout as the last step of a program. Returns `code`. If output was lost to a full disk
// or a closed pipe, prints that to stderr and returns exit_infrastructure.
int finish_stdout(int code);

}  // namespace plumbline::cli
