// TOML files written for one test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/base/error.h"

namespace plumbline {

// A file in a directory of its own, which is deleted with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    static int count = 0;
    directory_ = std::filesystem::temp_directory_path() /
                 ("plumbline-judge-" + std::to_string(getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(directory_);
    std::ofstream(path()) << text;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::filesystem::path path() const { return directory_ / "file.toml"; }

 private:
  std::filesystem::path directory_;
};

// Returns "3: message" for each error, in order.
inline std::vector<std::string> lines_and_messages(const Errors& errors) {
  std::vector<std::string> result;
  for (const Error& error : errors)
    result.push_back(std::to_string(error.line) + ": " + error.message);
  return result;
}

}  // namespace plumbline
